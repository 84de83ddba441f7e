// A block that is a run of the engine's: an agent's work, or one call of a model.
#include "base/lifetime.h"
#include "base/limits.h"
#include "base/task.h"
#include "flow/block_work.h"

namespace sluice::flow {
namespace {

constexpr Millis again{1'000};
constexpr int64_t again_seconds_max = 60;

std::string code_of(const model::Problem& problem) { return std::string(model::entry_of(problem.slug).name); }

class RunWork final : public BlockWork {
 public:
  RunWork(const FlowNeeds& needs, const FlowOptions& options, const Task& task, BlockListener& listener)
      : needs_(needs), options_(options), task_(task), listener_(listener) {
    needs_.loop.defer(lifetime_.guard([this] {
      attempts_.start(attempts(), [this](std::optional<Ended> ended) {
        ended ? listener_.on_block_ended(std::move(ended->outputs), std::move(ended->error))
              : listener_.on_block_left();
      });
    }));
  }

  void cancel() override {
    if (std::exchange(cancelled_, true)) return;
    if (run_) return cancel_run();
    if (!is_waiting_to_try_) return;  // the step that follows sees it
    attempts_.drop();
    needs_.loop.defer(lifetime_.guard([this] { listener_.on_block_ended({}, was_cancelled()); }));
  }

  void drain() override {
    draining_ = true;
    if (!is_waiting_to_try_) return;
    attempts_.drop();
    needs_.loop.defer(lifetime_.guard([this] { listener_.on_block_left(); }));
  }

 private:
  struct Ended {
    model::BlockOutputs outputs;
    std::optional<model::WorkflowError> error;
  };
  using Attempt = std::variant<Ended, Millis>;  // the end of the block, or how long to wait before the next attempt

  const Block& block() const { return task_.what(); }
  const AgentsBlock* agents() const { return std::get_if<AgentsBlock>(&block().what); }
  store::Database& database() const { return needs_.store.database(); }
  static Ended failed(std::string code, std::string words) {
    return {{}, model::WorkflowError{std::move(code), std::move(words)}};
  }

  // Empty: the server stops, and the next one continues.
  sluice::Task<std::optional<Ended>> attempts() {
    while (true) {
      auto attempt = co_await attempt_once();
      if (auto* ended = std::get_if<Ended>(&attempt)) co_return std::move(*ended);
      if (draining_) co_return std::nullopt;
      is_waiting_to_try_ = true;
      co_await pause(needs_.loop, std::get<Millis>(attempt));
      is_waiting_to_try_ = false;
    }
  }

  sluice::Task<Attempt> attempt_once() {
    // A crash may have come between naming the run and making it, so the first thing is to see if it is there.
    const auto found = co_await answer<Result<model::Run>>(
        [this](auto done) { store::run(database(), task_.run.tenant_id, *task_.run_id, std::move(done)); });
    if (found) co_return co_await end_of(found.value());
    if (cancelled_) co_return Ended{{}, was_cancelled()};
    if (found.error().kind != ErrorKind::not_found) co_return again;

    const auto tenant = co_await answer<Result<model::Tenant>>(
        [this](auto done) { store::tenant(database(), task_.run.tenant_id, std::move(done)); });
    if (!tenant) co_return again;
    if (tenant.value().status == model::TenantStatus::suspended) {
      co_return failed("tenant-suspended", "The tenant is suspended: nothing is begun for it.");
    }
    model::AgentId agent;
    if (agents() != nullptr) {
      const auto named = co_await answer<Result<model::Agent>>([this](auto done) { find_agent(std::move(done)); });
      if (!named && named.error().kind != ErrorKind::not_found) co_return again;
      if (!named) {
        co_return failed("agent-not-found", "There is no agent \"" + agents()->agent + "\" in this workspace.");
      }
      agent = named.value().id;
    }
    if (cancelled_) co_return Ended{{}, was_cancelled()};
    co_return co_await send(tenant.value().limits, agent);
  }

  void find_agent(store::Done<model::Agent> done) {
    const auto& tenant = task_.run.tenant_id;
    if (const auto id = model::AgentId::parse(agents()->agent)) {
      return store::agent(database(), tenant, *id, std::move(done));
    }
    store::agent_named(database(), tenant, agents()->agent, std::move(done));
  }

  sluice::Task<Attempt> send(model::TenantLimits limits, model::AgentId agent) {
    engine::Send send;
    send.run = *task_.run_id;
    send.tenant = task_.run.tenant_id;
    send.tenant_limits = limits;
    send.hold = true;
    send.streamed = false;
    send.request_id = task_.run.id.text();
    if (auto fault = fill(send)) {
      co_return failed("template-failed", "The block cannot be begun: " + fault->what + ".");
    }
    // A runner is asked with the operator's key.
    if (const auto& url = send.extras.sandbox_url; !url.empty() && !net::is_allowed(url, options_.sandbox_urls)) {
      co_return failed("sandbox-not-allowed",
                       "Workflows may not name the runner " + url +
                           ": the server's setting runner.sandbox_urls has those that they may.");
    }
    if (agents() != nullptr && send.extras.sandbox_url.empty() && !options_.has_sandbox) {
      co_return failed("sandbox-missing",
                       "Agents need a sandbox: this server has none, and no runner was named "
                       "(sandbox_url of the block, SANDBOX_URL of the workflow's environment or of "
                       "the server, or runner.urls).");
    }
    send.conversation = conversation_with(agent);
    const auto outcome =
        co_await answer<engine::SendOutcome>([&](auto done) { needs_.engine.send(std::move(send), std::move(done)); });
    if (const auto* sent = std::get_if<engine::Sent>(&outcome)) {
      co_await outside([this] { listener_.on_block_run(); });
      co_return co_await end_of(sent->run);
    }
    const auto& problem = std::get<model::Problem>(outcome);
    // Either nothing was created or the outcome is unknown: another look decides, and a later attempt may succeed.
    if (problem.slug == model::Slug::unavailable || problem.slug == model::Slug::capacity_exhausted) {
      co_return Millis{std::min(problem.retry_after_seconds.value_or(1), again_seconds_max) * 1'000};
    }
    co_return failed(code_of(problem), problem.detail);
  }

  model::Conversation conversation_with(model::AgentId agent) const {
    const auto now = needs_.loop.now();
    model::Conversation conversation{.id = needs_.ids.make<model::ConversationId>(),
                                     .tenant_id = task_.run.tenant_id,
                                     .agent_id = agent,
                                     .kind = model::ConversationKind::block,
                                     .last_message_at = now,
                                     .created_at = now,
                                     .updated_at = now};
    conversation.metadata = {{"workflow_run_id", task_.run.id.text()}, {"block", block().id}};
    if (agents() == nullptr) conversation.runtime.agent_type = "native";  // a model is asked, not a program
    return conversation;
  }

  std::optional<Error> fill(engine::Send& send) const {
    if (const auto* inference = std::get_if<InferenceBlock>(&block().what)) {
      auto prompt = task_.words(inference->prompt, limits::message_content_bytes_max);
      if (!prompt) return prompt.error();
      auto system = task_.words(inference->system, limits::message_content_bytes_max);
      if (!system) return system.error();
      send.content = std::move(prompt).take();
      send.extras.inference = inference->inference;
      send.extras.inference->system_prompt = std::move(system).take();
    } else {
      auto prompt = task_.words(agents()->prompt, limits::message_content_bytes_max);
      if (!prompt) return prompt.error();
      send.content = std::move(prompt).take();
      send.extras.builtin_skills = agents()->skills;
      send.extras.sandbox_url = sandbox_url();
      send.env = task_.plan.definition.environment;
      send.env->erase(std::string(sandbox_url_name));
    }
    if (send.content.empty()) return Error{ErrorKind::invalid, "its prompt is empty"};
    return std::nullopt;
  }

  // The block's own, then the workflow's, then the server's (S-8).
  std::string sandbox_url() const {
    if (!agents()->sandbox_url.empty()) return agents()->sandbox_url;
    const auto& environment = task_.plan.definition.environment;
    const auto found = environment.find(std::string(sandbox_url_name));
    return found == environment.end() ? "" : found->second;
  }

  // Waits for the end of the run, and makes it the block's.
  sluice::Task<Attempt> end_of(model::Run run) {
    run_ = run;
    const auto ending = co_await answer<Result<wire::Ending>>([this](auto done) {
      auto waiting = needs_.engine.wait_for_end(*run_, std::move(done));
      if (cancelled_) cancel_run();
      return waiting;
    });
    if (!ending) co_return lost(ending.error());
    if (std::holds_alternative<model::events::Cancelled>(ending.value())) co_return Ended{{}, was_cancelled()};
    if (const auto* failure = std::get_if<model::events::Failed>(&ending.value())) {
      co_return failure->code.empty() ? failed("internal", "The run failed.") : failed(failure->code, failure->words());
    }
    const auto message = model::message_from_json(std::get<model::events::Completed>(ending.value()).message);
    if (!message) co_return lost(message.error());
    const auto files = co_await answer<Result<std::vector<model::RunFile>>>(
        [this](auto done) { store::files_of_run(database(), task_.run.tenant_id, run_->id, std::move(done)); });
    if (!files) co_return again;
    auto outputs = outputs_of(message.value().content);
    outputs.files = "[";
    for (const auto& file : files.value()) {
      if (outputs.files->size() > 1) *outputs.files += ',';
      model::append_json(*outputs.files, file);
    }
    *outputs.files += ']';
    co_return Ended{std::move(outputs), std::nullopt};
  }

  Attempt lost(const Error& why) {
    run_.reset();
    if (why.kind != ErrorKind::corrupt) return again;
    return failed("internal", "What was written of the block's run could not be read.");
  }

  void cancel_run() {
    needs_.engine.cancel(task_.run.tenant_id, run_->id,
                         lifetime_.guard([this](const std::variant<model::Run, model::Problem>& answer) {
                           // The waiting block gets the end of the run.
                           const auto* problem = std::get_if<model::Problem>(&answer);
                           if (problem == nullptr || problem->slug == model::Slug::run_finished) return;
                           timer_ = needs_.loop.after(again, [this] {
                             if (run_) cancel_run();
                           });
                         }));
  }

  const FlowNeeds& needs_;
  const FlowOptions& options_;
  const Task task_;
  BlockListener& listener_;
  std::optional<model::Run> run_;  // once it is there
  world::Timer timer_;             // to cancel it again
  bool is_waiting_to_try_ = false;
  bool cancelled_ = false;
  bool draining_ = false;
  Lifetime lifetime_;
  Sequence attempts_;
};

}  // namespace

std::unique_ptr<BlockWork> make_run_work(const FlowNeeds& needs, const FlowOptions& options, const Task& task,
                                         BlockListener& listener) {
  return std::make_unique<RunWork>(needs, options, task, listener);
}

}  // namespace sluice::flow
