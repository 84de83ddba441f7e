#include "flow/carrier.h"

namespace sluice::flow {
namespace {

constexpr Millis write_again{500};

}  // namespace

Carrier::Carrier(const FlowNeeds& needs, const FlowOptions& options, Owner& owner, model::WorkflowRun run, Plan plan)
    : needs_(needs),
      options_(options),
      owner_(owner),
      run_(std::move(run)),
      plan_(std::move(plan)),
      progress_(plan_, run_.inputs) {}

Result<Unit> Carrier::remember(const std::vector<std::string>& bodies) {
  for (const auto& body : bodies) {
    const auto event = model::workflow_event_from_body(body);
    if (!event) return event.error();
    progress_.apply(event.value());
  }
  return Unit{};
}

void Carrier::go_on() {
  if (is_writing_ || work_) return;
  for (;;) {
    const auto next = progress_.next();
    if (const auto* finish = std::get_if<FinishRun>(&next)) {
      add(finish->end);
      return write();
    }
    if (std::holds_alternative<NothingLeft>(next)) return owner_.on_over(*this);
    if (!cancelling_.empty()) return end_cancelled();
    if (const auto* skip = std::get_if<SkipBlock>(&next)) {
      add(model::BlockFinished{plan_.definition.blocks[skip->block].id, model::BlockStatus::skipped, {}, {}});
      continue;
    }
    if (!bodies_.empty()) return write();
    if (draining_) return owner_.on_left(*this);
    if (const auto* started = std::get_if<CarryBlock>(&next)) return carry(*started);
    return begin(std::get<BeginBlock>(next).block);
  }
}

void Carrier::begin(std::size_t block) {
  const auto& what = plan_.definition.blocks[block];
  begun_here_ = block;
  std::optional<model::RunId> run_id;
  if (what.has_run()) run_id = needs_.ids.make<model::RunId>();
  add(model::BlockStarted{what.id, std::string(what.kind()), run_id});
  if (const auto* condition = std::get_if<ConditionBlock>(&what.what)) {
    const auto answer = holds(*condition, {run_, plan_, progress_, block, run_id, true});
    if (answer) {
      add_end_of(block, {.response = answer.value() ? "true" : "false"}, std::nullopt);
    } else {
      add_end_of(block, {}, model::WorkflowError{"condition-failed", answer.error().what + "."});
    }
  }
  write();
}

void Carrier::carry(const CarryBlock& block) {
  const auto& what = plan_.definition.blocks[block.block];
  current_ = block.block;
  const Task task{run_, plan_, progress_, block.block, block.run_id, begun_here_ == block.block};
  BlockListener& listener = *this;
  work_ = what.has_run() ? make_run_work(needs_, options_, task, listener)
                         : make_http_work(needs_, options_, task, listener);
}

void Carrier::on_block_ended(model::BlockOutputs outputs, std::optional<model::WorkflowError> error) {
  // Not from inside its own callback: it would be dropped while it speaks.
  needs_.loop.defer(lifetime_.guard([this, outputs = std::move(outputs), error = std::move(error)]() mutable {
    work_.reset();
    add_end_of(current_, std::move(outputs), std::move(error));
    go_on();
  }));
}

void Carrier::add_end_of(std::size_t block, model::BlockOutputs outputs, std::optional<model::WorkflowError> error) {
  const auto status = error ? model::BlockStatus::failed : model::BlockStatus::succeeded;
  add(model::BlockFinished{plan_.definition.blocks[block].id, status, std::move(outputs), std::move(error)});
}

// ── writing ─────────────────────────────────────────────────────────────────────────────────────

void Carrier::add(decltype(model::WorkflowEvent::what) what) {
  const model::WorkflowEvent event{needs_.loop.now(), std::move(what)};
  progress_.apply(event);
  bodies_.push_back(model::to_body(event));
  run_.blocks = progress_.blocks();
  if (const auto* end = std::get_if<model::WorkflowFinished>(&event.what)) {
    run_.status = end->status;
    run_.outputs = end->outputs;
    run_.error = end->error;
    run_.ended_at = event.at;
  }
}

void Carrier::write() {
  is_writing_ = true;
  store::append_to_workflow_run(
      needs_.store.database(), {run_, bodies_},
      lifetime_.guard([this](const Result<model::WorkflowRun>& written) { on_written(written); }));
}

void Carrier::on_written(const Result<model::WorkflowRun>& written) {
  if (!written && written.error().kind == ErrorKind::overloaded) {
    again_ = needs_.loop.after(write_again, [this] { write(); });
    return;
  }
  if (!written) return owner_.on_lost(*this, written.error());
  is_writing_ = false;
  bodies_.clear();
  run_.head = written.value().head;
  owner_.on_news(*this);
  if (run_.status != model::WorkflowRunStatus::running) {
    for (auto& done : std::exchange(cancelling_, {})) done(run_);
  }
  go_on();
}

// ── ends from outside ───────────────────────────────────────────────────────────────────────────

void Carrier::cancel(Callback<void(RunOutcome)> done) {
  cancelling_.push_back(std::move(done));
  if (cancelling_.size() > 1) return;
  work_ ? work_->cancel() : go_on();
}

void Carrier::give_up() {
  for (auto& done : std::exchange(cancelling_, {})) {
    done(model::Problem{.slug = model::Slug::unavailable,
                        .detail = "The workflow run is not being carried on by this server right now.",
                        .retry_after_seconds = 1});
  }
}

// Between two blocks, or in one for which nothing was done yet.
void Carrier::end_cancelled() {
  const auto next = progress_.next();
  if (const auto* started = std::get_if<CarryBlock>(&next)) {
    add_end_of(started->block, {}, was_cancelled());
    add(std::get<FinishRun>(progress_.next()).end);
  } else {
    add(model::WorkflowFinished{model::WorkflowRunStatus::cancelled, "{}", was_cancelled()});
  }
  write();
}

void Carrier::drain() {
  draining_ = true;
  if (work_) return work_->drain();
  if (!is_writing_) go_on();
}

}  // namespace sluice::flow
