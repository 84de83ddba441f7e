#include "engine/run_progress.h"

#include "base/check.h"

namespace sluice::engine {

RunProgress::RunProgress(const RunNeeds& needs, RunWriter& writer, model::Run run, model::Message message,
                         std::string request_id)
    : needs_(needs),
      writer_(writer),
      record_{std::move(run), std::move(message)},
      request_id_(std::move(request_id)),
      accepted_us_(needs.loop.monotonic_us()) {}

std::optional<Duty> RunProgress::apply(Happening what) {
  const auto row = step(run().state, what);
  if (!row) return std::nullopt;
  SLUICE_CHECK(belongs_to(row->then, row->to));
  needs_.duties.on_step(run(), *row);
  if (row->to != run().state) {
    auto& carrier = writer_.batch();
    carrier.state = row->to;
    carrier.duty = row->then;
  }
  enter(row->to);
  return row->then;
}

void RunProgress::enter(RunState state) {
  record_.run.state = state;
  record_.message.status = model::message_status(state);
}

void RunProgress::return_to_park(OpenSteps steps) {
  SLUICE_CHECK(run().state == RunState::streaming || run().state == RunState::failed);
  enter(RunState::parked);  // as it still is on disk
  steps_ = std::move(steps);
  problem_name_ = {};
}

void RunProgress::add(model::EventKind kind, std::string body) {
  writer_.add({kind, needs_.loop.now(), std::move(body)});
}

void RunProgress::report(model::RunEvent event) {
  if (is_over(run().state) || run().state == RunState::finishing) return;
  auto& content = record_.message.content;
  if (event.kind == model::EventKind::text) content += event.body;
  if (event.kind == model::EventKind::replaced && !model::take_back(content, event.body)) {
    event =
        model::encode(model::events::Log{.level = "warn",
                                         .text = "The agent took text back that it had not told; nothing was changed."},
                      event.at);
  }
  steps_.see(event);
  writer_.add(std::move(event));
}

void RunProgress::complete(model::Usage usage) {
  SLUICE_CHECK(run().state == RunState::completed);
  record_.message.usage = usage;
  add(model::EventKind::completed, model::to_json(record_.message));
}

void RunProgress::end(model::EventKind kind, const model::Problem& problem, std::string_view open_steps) {
  SLUICE_CHECK(is_over(run().state) && run().state != RunState::completed);
  for (auto& step : steps_.close(open_steps, needs_.loop.now())) writer_.add(std::move(step));
  problem_name_ = model::entry_of(problem.slug).name;
  std::string body;
  model::append_json(body, problem, {needs_.options.public_base_url, "", request_id_});
  add(kind, std::move(body));
}

void RunProgress::note_written(const model::RunEvent& event) {
  if (model::is_terminal(event.kind)) record_.run.ended_at = event.at;
  if (event.kind == model::EventKind::resumed) ++resumed_count_;
}

void RunProgress::use_up_checkpoint(Callback<void()> then) {
  add(model::EventKind::checkpoint, "");
  writer_.when_written(std::move(then));
}

void RunProgress::clear_mark(Callback<void()> then) {
  is_marked_ = false;
  add(model::EventKind::mark, "");
  writer_.when_written(std::move(then));
}

}  // namespace sluice::engine
