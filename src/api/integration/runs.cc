#include <algorithm>
#include <limits>
#include <map>

#include "api/answers/downloads.h"
#include "api/answers/pages.h"
#include "api/answers/streaming.h"
#include "api/handlers.h"
#include "api/request/reading.h"
#include "base/json.h"

namespace sluice::api::integration {
namespace {

constexpr std::string_view list_parameters[] = {"conversation_id", "agent_id", "state",          "created_after",
                                                "created_before",  "limit",    "starting_after", "ending_before"};

template <typename AnyId>
std::optional<AnyId> read_id(const Query& query, std::string_view name, std::string_view what) {
  const auto given = query.find(name);
  if (!given) return std::nullopt;
  const auto id = AnyId::parse(*given);
  if (!id) query.refuse(name, "is not the id of " + std::string(what));
  return id;
}

std::optional<Timestamp> read_time(const Query& query, std::string_view name) {
  const auto given = query.find(name);
  if (!given) return std::nullopt;
  const auto time = from_rfc3339(*given);
  if (!time) query.refuse(name, "must be a time in UTC, with or without milliseconds, such as 2026-07-02T10:00:00Z");
  return time;
}

// "failed,cancelled"; each counts once.
std::vector<model::RunState> read_states(const Query& query) {
  std::vector<model::RunState> states;
  auto rest = query.find("state");
  while (rest) {
    const auto comma = rest->find(',');
    const auto state = model::run_state_named(rest->substr(0, comma));
    if (!state) {
      query.refuse("state",
                   "must be states of runs with commas between: accepted, held, starting, streaming, parked, "
                   "finishing, completed, failed, cancelled");
      return {};
    }
    if (std::ranges::find(states, *state) == states.end()) states.push_back(*state);
    if (comma == std::string_view::npos) break;
    rest->remove_prefix(comma + 1);
  }
  return states;
}

// Calls `then` with the run that the path names, or answers 404.
void with_run(const RequestPtr& request, Callback<void(const model::Run&)> then) {
  with_row<model::Run>(request, &store::run, [request, then = std::move(then)](const model::Run& run) mutable {
    request->set_run(run.id);
    then(run);
  });
}

}  // namespace

void list_runs(const RequestPtr& request) {
  Findings findings;
  const Query query(request, list_parameters, findings);
  const auto page_query = read_page_query<model::RunId>(query, findings);
  const store::RunFilter filter{
      .conversation = read_id<model::ConversationId>(query, "conversation_id", "a conversation"),
      .agent = read_id<model::AgentId>(query, "agent_id", "an agent"),
      .states = read_states(query),
      .created_after = read_time(query, "created_after"),
      .created_before = read_time(query, "created_before")};
  if (refused(request, findings)) return;
  store::runs(request->database(), request->tenant().id, filter, page_query,
              [request, page_query, conversation = filter.conversation](const Result<store::Page<model::Run>>& page) {
                if (!conversation) return answer_page(request, page_query, page);
                answer_page_of(request, page_query, page, [&](auto then) {
                  store::conversation(request->database(), request->tenant().id, *conversation, std::move(then));
                });
              });
}

void get_run(const RequestPtr& request) {
  with_run(request, [request](const model::Run& run) { request->answer_json(200, model::to_json(run)); });
}

void cancel_run(const RequestPtr& request) {
  const auto id = request->path_id<model::RunId>();
  if (!id) return request->not_found();
  cancel_run_of(request, request->tenant().id, *id);
}

void list_run_files(const RequestPtr& request) {
  const auto id = request->path_id<model::RunId>();
  if (!id) return request->not_found();
  store::files_of_run(request->database(), request->tenant().id, *id,
                      [request](Result<std::vector<model::RunFile>> files) { answer_all(request, std::move(files)); });
}

void get_file(const RequestPtr& request) { get_row<model::RunFile>(request, &store::file); }

void get_file_content(const RequestPtr& request) {
  with_row<model::RunFile>(request, &store::file, [request](const model::RunFile& file) { send_file(request, file); });
}

namespace {

// The steps of a run, each once: as it stands now.
class Steps {
 public:
  void see(const model::RunEvent& event) {
    auto news = model::event_as<model::events::Step>(event);
    if (!news || news->id.empty()) return;
    const auto [known, fresh] = places_.try_emplace(news->id, steps_.size());
    if (fresh) return steps_.push_back({std::move(*news), event.at, {}});
    auto& [step, started_at, ended_at] = steps_[known->second];
    if (!news->name.empty()) step.name = std::move(news->name);
    if (news->status != model::events::StepStatus::unknown) step.status = news->status;
    if (!news->args.is_missing()) step.args = std::move(news->args);
    if (!news->result.is_missing()) step.result = std::move(news->result);
    if (news->error) step.error = std::move(news->error);
    if (news->duration_ms) step.duration_ms = news->duration_ms;
    ended_at = event.at;
  }

  std::string json() const {
    std::string out = "[";
    for (const auto& [step, started_at, ended_at] : steps_) {
      if (out.size() > 1) out += ',';
      json::Writer writer(out);
      writer.begin_object().key("id").string(step.id);
      if (!step.name.empty()) writer.key("name").string(step.name);
      if (step.status != model::events::StepStatus::unknown) writer.key("status").string(model::name_of(step.status));
      if (!step.args.is_missing()) writer.key("args").raw(step.args.text);
      if (!step.result.is_missing()) writer.key("result").raw(step.result.text);
      if (step.error) writer.key("error").string(*step.error);
      if (step.duration_ms) writer.key("durationMs").integer(*step.duration_ms);
      writer.key("startedAt").string(to_rfc3339(started_at));
      if (ended_at) writer.key("endedAt").string(to_rfc3339(*ended_at));
      writer.end_object();
    }
    return out + "]";
  }

 private:
  struct Step {
    model::events::Step now;
    Timestamp started_at;
    std::optional<Timestamp> ended_at;
  };
  std::vector<Step> steps_;
  std::map<std::string, std::size_t> places_;  // by id
};

std::string result_json(const model::Run& run, const std::optional<model::RunEvent>& last) {
  std::string out;
  json::Writer writer(out);
  writer.begin_object().key("run_id").string(run.id.text()).key("state").string(model::name_of(run.state));
  const bool has_message = last && last->kind == model::EventKind::completed;
  writer.key("message");
  has_message ? writer.raw(last->body) : writer.null();
  writer.key("error");
  last && !has_message ? writer.raw(last->body) : writer.null();
  writer.end_object();
  return out;
}

constexpr std::string_view egress_parameters[] = {"limit", "starting_after"};

// A page that fills as the journal is read. Its cursors are positions in the journal.
class EgressPage {
 public:
  explicit EgressPage(int64_t limit) : limit_(limit) {}

  // False: there is more than the page takes.
  bool see(const journal::Committed& committed) {
    const auto& event = committed.event();
    if (event.kind != model::EventKind::egress) return true;
    if (count_ == limit_) return has_more_ = true, false;
    const auto body = json::Document::parse(event.body);
    if (!body) return true;
    last_ = std::to_string(committed.position().value);
    if (count_++ > 0) entries_ += ',';
    json::Writer writer(entries_);
    writer.begin_object().key("object").string("egress_entry").key("position").raw(last_);
    writer.key("at").string(to_rfc3339(event.at));
    body.value().root().each_member(
        [&](std::string_view name, json::Value value) { writer.key_escaped(name).raw(value.to_text()); });
    writer.end_object();
    return true;
  }

  std::string json() const {
    std::string out = R"({"object":"list","data":[)" + entries_ + R"(],"has_more":)";
    out += has_more_ ? "true" : "false";
    return out + R"(,"next_cursor":)" + (has_more_ ? '"' + last_ + '"' : "null") + "}";
  }

 private:
  int64_t limit_;
  int64_t count_ = 0;
  bool has_more_ = false;
  std::string entries_;
  std::string last_;
};

Task<> answer_trace(RequestPtr request, model::Run run, StreamPosition position) {
  if (position.after >= 0) co_await find_event(request, run, position);
  open_stream(request, {.run = run, .format = position.format, .after = position.after});
}

Task<> answer_steps(RequestPtr request, model::RunId run) {
  Steps steps;
  co_await walk_journal(request, run, {}, [&](const journal::Committed& committed) {
    steps.see(committed.event());
    return true;
  });
  request->answer_json(200, steps.json());
}

Task<> answer_timeline(RequestPtr request, model::Run run) {
  wire::TimelineFold fold(run.created_at);
  const auto now = co_await walk_journal(request, run.id, {}, [&](const journal::Committed& committed) {
    fold.apply(committed.event());
    return true;
  });
  request->answer_json(200, fold.json(now));
}

Task<> answer_result(RequestPtr request, model::RunId run) {
  std::optional<model::RunEvent> last;
  const auto now = co_await walk_journal(request, run, {}, [&](const journal::Committed& committed) {
    if (model::is_terminal(committed.event().kind)) last = committed.event();
    return true;
  });
  request->answer_json(200, result_json(now, last));
}

Task<> answer_egress(RequestPtr request, model::RunId run, int64_t limit, int64_t after) {
  EgressPage page(limit);
  co_await walk_journal(request, run, {static_cast<uint64_t>(after)},
                        [&](const journal::Committed& committed) { return page.see(committed); });
  request->answer_json(200, page.json());
}

}  // namespace

void stream_run_trace(const RequestPtr& request) {
  Findings findings;
  const auto position = read_trace_position(request, findings);
  if (refused(request, findings)) return;
  with_run(request,
           [request, position](const model::Run& run) { start_unowned(answer_trace(request, run, position)); });
}

void get_run_steps(const RequestPtr& request) {
  with_run(request, [request](const model::Run& run) { start_unowned(answer_steps(request, run.id)); });
}

void get_run_timeline(const RequestPtr& request) {
  with_run(request, [request](const model::Run& run) { start_unowned(answer_timeline(request, run)); });
}

void get_run_result(const RequestPtr& request) {
  with_run(request, [request](const model::Run& run) { start_unowned(answer_result(request, run.id)); });
}

void list_run_egress(const RequestPtr& request) {
  Findings findings;
  const Query query(request, egress_parameters, findings);
  const auto limit = query.integer("limit", 1, limits::page_max).value_or(limits::page_default);
  const auto after = query.integer("starting_after", 0, std::numeric_limits<int64_t>::max()).value_or(0);
  if (refused(request, findings)) return;
  with_run(request, [request, limit, after](const model::Run& run) {
    start_unowned(answer_egress(request, run.id, limit, after));
  });
}

}  // namespace sluice::api::integration
