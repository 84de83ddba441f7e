// Workflow runs on a store that servers share: each is carried by one of them, read through any, and taken over when
// its server dies.
#include "flow/flows.h"
#include "flow/problems.h"

namespace sluice::flow {
namespace {

constexpr Millis look_every{1'000};
constexpr std::string_view cancel_kind = "cancel workflow run";

}  // namespace

HouseFlows::HouseFlows(FlowNeeds needs, FlowOptions options) : needs_(needs), options_(std::move(options)) {
  if (!is_shared()) return;
  needs_.engine.answer_nodes(std::string(cancel_kind),
                             alive_.guard([this](const std::string& body, Callback<void(std::string)> reply) {
                               on_asked_to_cancel(body, std::move(reply));
                             }));
}

void HouseFlows::look_around_later() {
  if (draining_) return;
  look_timer_ = needs_.loop.after(look_every, [this] { look_around(); });
}

void HouseFlows::look_around() {
  for (const auto& [run, reading] : readings_) {
    if (!carriers_.contains(run)) reading->on_news();
  }
  auto on_runs = [this](const Result<std::vector<model::WorkflowRun>>& runs) {
    look_around_later();
    if (!runs || draining_) return;
    for (const auto& run : runs.value()) {
      const bool is_here = carriers_.contains(run.id) || coming_.contains(run.id);
      if (!is_here && (run.node == self() || needs_.engine.is_gone(run.node))) take_over(run);
    }
  };
  needs_.store.workflows().unfinished_runs(alive_.guard(std::move(on_runs)));
}

void HouseFlows::take_over(const model::WorkflowRun& run) {
  coming_.try_emplace(run.id);
  auto on_taken = [this, id = run.id](const Result<model::WorkflowRun>& taken) {
    if (!taken) {
      coming_.erase(id);  // it is somebody else's now, or over; or the next look tries again
      return;
    }
    needs_.log.write(world::LogLevel::info, "workflow run taken over", {{"run", id.text()}});
    ++at_once_[taken.value().tenant_id];
    take_up(taken.value(), [](const Result<Unit>&) {});
  };
  needs_.store.workflows().take_over(run.id, run.node, self(), alive_.guard(std::move(on_taken)));
}

void HouseFlows::cancel_elsewhere(const model::WorkflowRun& run, Callback<void(RunOutcome)> done) {
  auto on_answer = [this, tenant = run.tenant_id, id = run.id,
                    done = std::move(done)](const Result<std::string>& answer) mutable {
    if (!answer) return done(unavailable("The server that carries the workflow run did not answer."));
    auto on_run = [done = std::move(done)](const Result<model::WorkflowRun>& ended) mutable {
      if (!ended) return done(problem_of_store(ended.error()));
      const auto status = ended.value().status;
      if (status == model::WorkflowRunStatus::cancelled) return done(ended.value());
      if (status == model::WorkflowRunStatus::running) {
        return done(unavailable("The workflow run could not be cancelled right now."));
      }
      done(problem_of(model::Slug::run_finished,
                      "The workflow run ended as " + std::string(model::name_of(status)) + "."));
    };
    needs_.store.workflows().run(tenant, id, alive_.guard(std::move(on_run)));
  };
  needs_.engine.ask_node(run.node, std::string(cancel_kind), run.tenant_id.text() + " " + run.id.text(),
                         alive_.guard(std::move(on_answer)));
}

void HouseFlows::on_asked_to_cancel(std::string_view body, Callback<void(std::string)> reply) {
  const auto space = body.find(' ');
  const auto tenant = model::TenantId::parse(body.substr(0, space));
  const auto run = space == std::string_view::npos ? std::nullopt : model::WorkflowRunId::parse(body.substr(space + 1));
  // Whatever comes of it is in the store, where whoever asked reads it.
  if (!tenant || !run || !carriers_.contains(*run)) return reply("");
  cancel(*tenant, *run, [reply = std::move(reply)](const RunOutcome&) mutable { reply(""); });
}

}  // namespace sluice::flow
