// What a run did, as the files it keeps (S-11): stream.jsonl, steps.json and result.json. They are
// folds of its journal, so they look the same while it runs and for ever after.
#include <map>

#include "api/integration/event_request.h"
#include "api/integration/handlers.h"
#include "api/integration/journal_walk.h"
#include "api/integration/streaming.h"
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

void stream_run_trace(const Asked& asked) {
  Findings findings;
  const auto wanted = read_wanted_trace(asked, findings);
  if (refused(asked, findings)) return;
  with_run(asked, [asked, wanted](const model::Run& run) {
    const auto open = [asked, wanted, run](Follows) {
      open_stream(asked, {.run = run, .format = wanted.format, .after = wanted.after});
    };
    if (wanted.after < 0) return open(Follows::something);
    find_event(asked, run, wanted, open);
  });
}

void get_run_steps(const Asked& asked) {
  with_run(asked, [asked](const model::Run& run) {
    const auto steps = std::make_shared<Steps>();
    walk_journal(
        asked, run.id, {},
        [steps](const store::Committed& committed) {
          steps->see(committed.event());
          return true;
        },
        [asked, steps](const model::Run&) { asked->answer_json(200, steps->json()); });
  });
}

void get_run_timeline(const Asked& asked) {
  with_run(asked, [asked](const model::Run& found) {
    const auto fold = std::make_shared<wire::TimelineFold>(found.created_at);
    walk_journal(
        asked, found.id, {},
        [fold](const store::Committed& committed) {
          fold->apply(committed.event());
          return true;
        },
        [asked, fold](const model::Run& run) { asked->answer_json(200, fold->json(run)); });
  });
}

void get_run_result(const Asked& asked) {
  with_run(asked, [asked](const model::Run& found) {
    const auto last = std::make_shared<std::optional<model::RunEvent>>();
    walk_journal(
        asked, found.id, {},
        [last](const store::Committed& committed) {
          if (model::is_terminal(committed.event().kind)) *last = committed.event();
          return true;
        },
        [asked, last](const model::Run& run) { asked->answer_json(200, result_json(run, *last)); });
  });
}

}  // namespace sluice::api::integration
