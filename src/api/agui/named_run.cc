
#include <algorithm>
#include <charconv>

#include "api/agui/agui.h"
#include "api/answers/streaming.h"
#include "api/handlers.h"
#include "api/request/reading.h"
#include "api/request/waiting.h"
#include "base/limits.h"

namespace sluice::api::agui {

Seen read_seen(std::string_view id, std::string_view run_id, std::string_view name, Findings& findings) {
  if (id == "-1") return {.is_named = true};
  Seen out{.is_named = true};
  const bool is_of_run = id.size() > run_id.size() + 1 && id.starts_with(run_id) && id[run_id.size()] == '-';
  const auto number = is_of_run ? id.substr(run_id.size() + 1) : std::string_view();
  const auto [end, failed] = std::from_chars(number.data(), number.data() + number.size(), out.after);
  if (number.empty() || failed != std::errc() || end != number.data() + number.size() || out.after < 0) {
    findings.refuse(std::string(name), "must be the id of a frame of this run, as its stream gave it");
  }
  return out;
}

Task<journal::AguiRun> named_run(const RequestPtr& request, std::string thread_id, std::string run_id) {
  const auto tenant = request->tenant().id;
  std::optional<journal::AguiRun> named;
  if (thread_id.empty()) {
    named = co_await found_if_any<journal::AguiRun>(request, &store::agui_run_named, tenant, std::move(run_id));
  } else {
    named = co_await found_if_any<journal::AguiRun>(request, &store::agui_run, tenant, std::move(thread_id),
                                                    std::move(run_id));
  }
  if (!named) {
    request->problem(model::Slug::not_found, "There is no AG-UI run of that name.");
    co_await answered();
  }
  co_return *std::move(named);
}

Task<> stream_named(const RequestPtr& request, const journal::AguiRun& named, wire::Format format, int64_t after) {
  const auto run = co_await found<model::Run>(request, &store::run, request->tenant().id, named.run);
  open_stream(request, {.run = run, .format = format, .after = after, .segment = named.segment});
}

Task<std::optional<model::AgentId>> agent_of_path(const RequestPtr& request) {
  const auto given = request->path_param(0);
  if (given.empty()) co_return std::nullopt;
  const auto tenant = request->tenant().id;
  std::optional<model::Agent> agent;
  if (const auto name = net::percent_decode(given)) {
    if (const auto id = model::AgentId::parse(*name)) {
      co_return (co_await found<model::Agent>(request, &store::agent, tenant, *id)).id;
    }
    agent = co_await found_if_any<model::Agent>(request, &store::agent_named, tenant, *name);
  }
  if (!agent) {
    request->problem(model::Slug::not_found, "This tenant has no agent of that id or name.");
    co_await answered();
  }
  co_return agent->id;
}

namespace {

constexpr std::string_view find_parameters[] = {"runId", "offset", "threadId", "limit", "before", "protocolVersion"};
constexpr std::string_view cancel_parameters[] = {"runId", "threadId"};
constexpr int64_t runs_default = 50;
constexpr int64_t runs_max = 100;

void answer_thread(const RequestPtr& request, wire::Format format, const ThreadNow& now) {
  const auto messages = "[" + now.messages + "]";
  const bool is_tanstack = format == wire::Format::agui_tanstack_sse || format == wire::Format::agui_tanstack_ndjson;
  std::string body = R"({"messages":)" + (is_tanstack ? ui_messages(messages) : messages) + R"(,"activeRun":)";
  if (now.newest_run.empty() || now.waits) {
    body += "null";
  } else {
    json::Writer(body).begin_object().key("runId").string(now.newest_run).end_object();
  }
  body += R"(,"interrupts":)";
  if (now.waits) {
    body += R"({"runId":)";
    json::append_string(body, now.newest_run);
    body += R"(,"pending":[)" + now.interrupts + "]}";
  } else {
    body += "null";
  }
  body += now.cursor.empty() ? R"(,"page":{"truncated":false}})"
                             : R"(,"page":{"truncated":true,"cursor":")" + now.cursor + "\"}}";
  request->answer_json(200, std::move(body));
}

// A thread as it is now. One without messages is empty.
Task<> find_thread(const RequestPtr& request, const Query& query, wire::Format format, Findings& findings) {
  const auto limit = query.integer("limit", 1, runs_max).value_or(runs_default);
  std::optional<model::RunId> before;
  if (const auto text = query.find("before")) {
    before = model::RunId::parse(*text);
    if (!before) query.refuse("before", "must be the `page.cursor` of the page before");
  }
  if (refused(request, findings)) co_return;
  const auto conversation = co_await found_if_any<model::ConversationId>(request, &store::thread, request->tenant().id,
                                                                         std::string(*query.find("threadId")));
  if (!conversation) co_return answer_thread(request, format, {});
  const auto now = co_await read_thread(request, *conversation,
                                        {.limit = static_cast<int>(limit), .before = before, .is_joined = true});
  answer_thread(request, format, now);
}

// Only TanStack's client comes by GET; one of AG-UI 1.0 says so.
Task<> find(RequestPtr request) {
  co_await agent_of_path(request);
  Findings findings;
  const Query query(request, find_parameters, findings);
  const auto format = format_for(request, query.find("protocolVersion") ? Peer::current : Peer::tanstack);
  const std::string thread_id(query.find("threadId").value_or(""));
  const std::string run_id(query.find("runId").value_or(""));
  if (run_id.empty() && thread_id.empty()) {
    co_return request->problem(model::Slug::malformed_request,
                               "Name a run (runId, with offset) or a thread (threadId).");
  }
  if (run_id.empty()) {
    co_await find_thread(request, query, format, findings);
    co_return;
  }
  const auto last = request->header("Last-Event-ID");
  const auto offset = query.find("offset");
  if (!last && !offset) {
    co_return request->problem(
        model::Slug::malformed_request,
        "Say from where: offset=-1 for the whole run, or the id of the last frame you have, there or "
        "in Last-Event-ID.");
  }
  const auto seen =
      last ? read_seen(*last, run_id, "Last-Event-ID", findings) : read_seen(*offset, run_id, "offset", findings);
  if (refused(request, findings)) co_return;
  const auto named = co_await named_run(request, thread_id, run_id);
  co_await stream_named(request, named, format, seen.after);
}

Task<> cancel_named(RequestPtr request) {
  co_await agent_of_path(request);
  Findings findings;
  const Query query(request, cancel_parameters, findings);
  const std::string run_id(query.find("runId").value_or(""));
  if (run_id.empty()) query.refuse("runId", "is required: the run to be cancelled");
  if (refused(request, findings)) co_return;
  const auto named = co_await named_run(request, std::string(query.find("threadId").value_or("")), run_id);
  request->set_run(named.run);
  const auto outcome = co_await answer<std::variant<model::Run, model::Problem>>(
      [&](auto done) { request->engine().cancel(request->tenant().id, named.run, std::move(done)); });
  if (const auto* problem = std::get_if<model::Problem>(&outcome)) co_return request->problem(*problem);
  std::string body;
  json::Writer writer(body);
  writer.begin_object().key("threadId").string(named.thread_id).key("runId").string(named.run_id);
  writer.key("status").string(model::name_of(std::get<model::Run>(outcome).state)).end_object();
  request->answer_json(200, std::move(body));
}

}  // namespace

void find_again(const RequestPtr& request) { start_unowned(find(request)); }
void cancel(const RequestPtr& request) { start_unowned(cancel_named(request)); }

}  // namespace sluice::api::agui
