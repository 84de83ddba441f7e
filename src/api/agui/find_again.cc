// GET: a run from any place of it (`runId` with `offset` or Last-Event-ID), or a thread as it is now (`threadId`).
// DELETE: the end of a run.
#include "api/agui/agui.h"
#include "api/agui/named_run.h"
#include "api/agui/run_input.h"
#include "api/agui/threads.h"
#include "api/agui/ui_messages.h"
#include "api/request/reading.h"

namespace sluice::api::agui {
namespace {

constexpr std::string_view find_parameters[] = {"runId", "offset", "threadId", "limit", "before", "protocolVersion"};
constexpr std::string_view cancel_parameters[] = {"runId", "threadId"};
constexpr int64_t runs_default = 50;
constexpr int64_t runs_max = 100;

void tell_thread(const RequestPtr& request, wire::Format format, const ThreadNow& now) {
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

void hydrate(const RequestPtr& request, const Query& query, std::string thread_id, wire::Format format,
             Findings& findings) {
  const auto limit = query.integer("limit", 1, runs_max).value_or(runs_default);
  std::optional<model::RunId> before;
  if (const auto text = query.find("before")) {
    before = model::RunId::parse(*text);
    if (!before) query.refuse("before", "must be the `page.cursor` of the page before");
  }
  if (refused(request, findings)) return;
  store::thread(
      request->database(), request->tenant().id, std::move(thread_id),
      [request, format, limit = static_cast<int>(limit), before](const Result<model::ConversationId>& conversation) {
        if (!conversation && conversation.error().kind != ErrorKind::not_found)
          return request->fail(conversation.error());
        // A thread without messages is empty.
        if (!conversation) return tell_thread(request, format, {});
        read_thread(request, conversation.value(), {.limit = limit, .before = before, .is_joined = true},
                    [request, format](const ThreadNow& now) { tell_thread(request, format, now); });
      });
}

// Only TanStack's client comes by GET; one of AG-UI 1.0 says so.
void find_named(const RequestPtr& request) {
  Findings findings;
  const Query query(request, find_parameters, findings);
  const auto format = format_for(request, query.find("protocolVersion") ? Peer::current : Peer::tanstack);
  const std::string thread_id(query.find("threadId").value_or(""));
  const std::string run_id(query.find("runId").value_or(""));
  if (run_id.empty()) {
    if (!thread_id.empty()) return hydrate(request, query, thread_id, format, findings);
    return request->problem(model::Slug::malformed_request, "Name a run (runId, with offset) or a thread (threadId).");
  }
  const auto last = request->header("Last-Event-ID");
  const auto offset = query.find("offset");
  if (!last && !offset) {
    return request->problem(
        model::Slug::malformed_request,
        "Say from where: offset=-1 for the whole run, or the id of the last frame you have, there or "
        "in Last-Event-ID.");
  }
  const auto seen =
      last ? read_seen(*last, run_id, "Last-Event-ID", findings) : read_seen(*offset, run_id, "offset", findings);
  if (refused(request, findings)) return;
  with_named_run(request, thread_id, run_id, [request, format, seen](const journal::AguiRun& named) {
    stream_named(request, named, format, seen.after);
  });
}

void cancel_named(const RequestPtr& request) {
  Findings findings;
  const Query query(request, cancel_parameters, findings);
  const std::string run_id(query.find("runId").value_or(""));
  if (run_id.empty()) query.refuse("runId", "is required: the run to be cancelled");
  if (refused(request, findings)) return;
  with_named_run(
      request, std::string(query.find("threadId").value_or("")), run_id, [request](const journal::AguiRun& named) {
        request->set_run(named.run);
        request->engine().cancel(
            request->tenant().id, named.run, [request, named](const std::variant<model::Run, model::Problem>& outcome) {
              if (const auto* problem = std::get_if<model::Problem>(&outcome)) return request->problem(*problem);
              std::string body;
              json::Writer writer(body);
              writer.begin_object().key("threadId").string(named.thread_id).key("runId").string(named.run_id);
              writer.key("status").string(model::name_of(std::get<model::Run>(outcome).state)).end_object();
              request->answer_json(200, std::move(body));
            });
      });
}

}  // namespace

void find_again(const RequestPtr& request) {
  with_agent_of_path(request, [request](std::optional<model::AgentId>) { find_named(request); });
}

void cancel(const RequestPtr& request) {
  with_agent_of_path(request, [request](std::optional<model::AgentId>) { cancel_named(request); });
}

}  // namespace sluice::api::agui
