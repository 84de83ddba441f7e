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
    if (event.kind != model::EventKind::step) return;
    const auto document = json::Document::parse(event.body);
    if (!document) return;
    const auto id = document.value().root().find("id");
    if (!id) return;
    const auto [known, fresh] = places_.try_emplace(id->to_text(), steps_.size());
    if (fresh) steps_.push_back({{}, event.at, {}});
    auto& step = steps_[known->second];
    for (const auto* name : {"id", "name", "status", "args", "result", "error", "durationMs"}) {
      if (const auto member = document.value().root().find(name)) step.members[name] = member->to_text();
    }
    if (!fresh) step.ended_at = event.at;
  }

  std::string json() const {
    std::string out = "[";
    for (const auto& step : steps_) {
      if (out.size() > 1) out += ',';
      json::Writer writer(out);
      writer.begin_object();
      for (const auto* name : {"id", "name", "status", "args", "result", "error", "durationMs"}) {
        if (const auto member = step.members.find(name); member != step.members.end()) {
          writer.key(name).raw(member->second);
        }
      }
      writer.key("startedAt").string(to_rfc3339(step.started_at));
      if (step.ended_at) writer.key("endedAt").string(to_rfc3339(*step.ended_at));
      writer.end_object();
    }
    return out + "]";
  }

 private:
  struct Step {
    std::map<std::string, std::string, std::less<>> members;  // by name, as JSON
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
        [steps](const store::Committed& committed) {
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
        [fold](const store::Committed& committed) {
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
        [last](const store::Committed& committed) {
          if (model::is_terminal(committed.event().kind)) *last = committed.event();
          return true;
        },
        [request, last](const model::Run& run) { request->answer_json(200, result_json(run, *last)); });
  });
}

}  // namespace sluice::api::integration
