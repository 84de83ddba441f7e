// What a run did, as the files it keeps (S-11): stream.jsonl, steps.json and result.json. They are
// folds of its journal, so they look the same while it runs and for ever after.
#include <map>

#include "api/answers/event_request.h"
#include "api/answers/journal_walk.h"
#include "api/answers/streaming.h"
#include "api/integration/integration.h"
#include "api/integration/lookups.h"
#include "api/request/reading.h"
#include "base/json.h"

namespace sluice::api::integration {
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

}  // namespace

void stream_run_trace(const RequestPtr& request) {
  Findings findings;
  const auto position = read_trace_position(request, findings);
  if (refused(request, findings)) return;
  with_run(request, [request, position](const model::Run& run) {
    const auto open = [request, position, run](Follows) {
      open_stream(request, {.run = run, .format = position.format, .after = position.after});
    };
    if (position.after < 0) return open(Follows::something);
    find_event(request, run, position, open);
  });
}

void get_run_steps(const RequestPtr& request) {
  with_run(request, [request](const model::Run& run) {
    const auto steps = std::make_shared<Steps>();
    walk_journal(
        request, run.id, {},
        [steps](const journal::Committed& committed) {
          steps->see(committed.event());
          return true;
        },
        [request, steps](const model::Run&) { request->answer_json(200, steps->json()); });
  });
}

void get_run_timeline(const RequestPtr& request) {
  with_run(request, [request](const model::Run& found) {
    const auto fold = std::make_shared<wire::TimelineFold>(found.created_at);
    walk_journal(
        request, found.id, {},
        [fold](const journal::Committed& committed) {
          fold->apply(committed.event());
          return true;
        },
        [request, fold](const model::Run& run) { request->answer_json(200, fold->json(run)); });
  });
}

void get_run_result(const RequestPtr& request) {
  with_run(request, [request](const model::Run& found) {
    const auto last = std::make_shared<std::optional<model::RunEvent>>();
    walk_journal(
        request, found.id, {},
        [last](const journal::Committed& committed) {
          if (model::is_terminal(committed.event().kind)) *last = committed.event();
          return true;
        },
        [request, last](const model::Run& run) { request->answer_json(200, result_json(run, *last)); });
  });
}

}  // namespace sluice::api::integration
