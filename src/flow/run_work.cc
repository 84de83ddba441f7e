// A block that is a run of the engine's: an agent's work, or one call of a model.
#include "base/limits.h"
#include "flow/alive.h"
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
    needs_.loop.defer(alive_.guard([this] { look(); }));
  }

  void cancel() override {
    if (std::exchange(cancelled_, true)) return;
    if (run_) return cancel_run();
    if (!is_waiting_to_try_) return;  // whatever comes next sees it
    timer_.cancel();
    end_later(was_cancelled());
  }

  void drain() override {
    draining_ = true;
    if (is_waiting_to_try_) leave_later();
  }

 private:
  const Block& block() const { return task_.what(); }
  const AgentsBlock* agents() const { return std::get_if<AgentsBlock>(&block().what); }

  // A crash may have come between naming the run and making it, so the first thing is to see if it is there.
  void look() {
    is_waiting_to_try_ = false;
    store::run(needs_.store.database(), task_.run.tenant_id, *task_.run_id,
               alive_.guard([this](const Result<model::Run>& found) {
                 if (found) return wait(found.value());
                 if (cancelled_) return end({}, was_cancelled());
                 if (found.error().kind != ErrorKind::not_found) return try_again(again);
                 find_tenant();
               }));
  }

  void find_tenant() {
    store::tenant(
        needs_.store.database(), task_.run.tenant_id, alive_.guard([this](const Result<model::Tenant>& tenant) {
          if (!tenant) return try_again(again);
          if (tenant.value().status == model::TenantStatus::suspended) {
            return end({},
                       model::WorkflowError{"tenant-suspended", "The tenant is suspended: nothing is begun for it."});
          }
          limits_ = tenant.value().limits;
          if (agents() == nullptr) return send(model::AgentId{});
          if (const auto id = model::AgentId::parse(agents()->agent)) return find_agent(*id);
          find_agent_named({});
        }));
  }

  void find_agent(model::AgentId id) {
    store::agent(needs_.store.database(), task_.run.tenant_id, id,
                 alive_.guard([this](const Result<model::Agent>& agent) {
                   if (agent) return send(agent.value().id);
                   agent.error().kind == ErrorKind::not_found ? fail_without_agent() : try_again(again);
                 }));
  }

  void find_agent_named(std::optional<model::AgentId> after) {
    const store::PageQuery<model::AgentId> query{.limit = limits::page_max, .starting_after = after};
    store::agents(needs_.store.database(), task_.run.tenant_id, query,
                  alive_.guard([this](const Result<store::Page<model::Agent>>& page) {
                    if (!page) return try_again(again);
                    for (const auto& agent : page.value().rows) {
                      if (agent.name == agents()->agent) return send(agent.id);
                    }
                    if (!page.value().has_more) return fail_without_agent();
                    find_agent_named(page.value().rows.back().id);
                  }));
  }

  void fail_without_agent() {
    end({},
        model::WorkflowError{"agent-not-found", "There is no agent \"" + agents()->agent + "\" in this workspace."});
  }

  void send(model::AgentId agent) {
    if (cancelled_) return end({}, was_cancelled());
    engine::Send send;
    send.run = *task_.run_id;
    send.tenant = task_.run.tenant_id;
    send.tenant_limits = limits_;
    send.hold = true;
    send.streamed = false;
    send.request_id = task_.run.id.text();
    if (auto fault = fill(send)) {
      return end({}, model::WorkflowError{"template-failed", "The block cannot be begun: " + fault->what + "."});
    }
    // A runner is asked with the operator's key.
    if (const auto& url = send.extras.sandbox_url; !url.empty() && !net::is_allowed(url, options_.sandbox_urls)) {
      return end({}, model::WorkflowError{"sandbox-not-allowed",
                                          "Workflows may not name the runner " + url +
                                              ": the server's setting runner.sandbox_urls has those that they may."});
    }
    if (agents() != nullptr && send.extras.sandbox_url.empty() && !options_.has_sandbox) {
      return end({}, model::WorkflowError{"sandbox-missing",
                                          "Agents need a sandbox: this server has none, and no runner was named "
                                          "(sandbox_url of the block, SANDBOX_URL of the workflow's environment or of "
                                          "the server, or runner.urls)."});
    }
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
    send.conversation = std::move(conversation);
    needs_.engine.send(std::move(send), alive_.guard([this](engine::SendOutcome outcome) { on_sent(outcome); }));
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

  void on_sent(const engine::SendOutcome& outcome) {
    if (const auto* sent = std::get_if<engine::Sent>(&outcome)) {
      listener_.on_block_run();
      return wait(sent->run);
    }
    const auto& problem = std::get<model::Problem>(outcome);
    // Either nothing was created or the outcome is unknown: another look decides, and a later attempt may succeed.
    if (problem.slug == model::Slug::unavailable || problem.slug == model::Slug::capacity_exhausted) {
      return try_again({std::min(problem.retry_after_seconds.value_or(1), again_seconds_max) * 1'000});
    }
    end({}, model::WorkflowError{code_of(problem), problem.detail});
  }

  void wait(const model::Run& run) {
    run_ = run;
    waiting_ = needs_.engine.wait_for_end(run, alive_.guard([this](const Result<wire::Ending>& ending) {
      if (!ending) return on_lost(ending.error());
      on_end_of_run(ending.value());
    }));
    if (cancelled_) cancel_run();
  }

  void on_lost(const Error& why) {
    run_.reset();
    if (why.kind == ErrorKind::corrupt) {
      return end({}, model::WorkflowError{"internal", "What was written of the block's run could not be read."});
    }
    try_again(again);
  }

  void on_end_of_run(const wire::Ending& ending) {
    if (std::holds_alternative<model::events::Cancelled>(ending)) return end({}, was_cancelled());
    if (const auto* failed = std::get_if<model::events::Failed>(&ending)) {
      return end({}, failed->code.empty() ? model::WorkflowError{"internal", "The run failed."}
                                          : model::WorkflowError{failed->code, failed->words()});
    }
    const auto message = model::message_from_json(std::get<model::events::Completed>(ending).message);
    if (!message) return on_lost(message.error());
    store::files_of_run(
        needs_.store.database(), task_.run.tenant_id, run_->id,
        alive_.guard([this, text = message.value().content](const Result<std::vector<model::RunFile>>& files) {
          if (!files) return try_again(again);
          auto outputs = outputs_of(text);
          outputs.files = "[";
          for (const auto& file : files.value()) {
            if (outputs.files->size() > 1) *outputs.files += ',';
            model::append_json(*outputs.files, file);
          }
          *outputs.files += ']';
          end(std::move(outputs), std::nullopt);
        }));
  }

  void cancel_run() {
    needs_.engine.cancel(task_.run.tenant_id, run_->id,
                         alive_.guard([this](const std::variant<model::Run, model::Problem>& answer) {
                           // The waiting block gets the end of the run.
                           const auto* problem = std::get_if<model::Problem>(&answer);
                           if (problem == nullptr || problem->slug == model::Slug::run_finished) return;
                           timer_ = needs_.loop.after(again, [this] {
                             if (run_) cancel_run();
                           });
                         }));
  }

  void try_again(Millis delay) {
    if (draining_) return leave_later();
    is_waiting_to_try_ = true;
    timer_ = needs_.loop.after(delay, [this] { look(); });
  }

  void leave_later() {
    timer_.cancel();
    needs_.loop.defer(alive_.guard([this] { listener_.on_block_left(); }));
  }

  void end_later(model::WorkflowError error) {
    needs_.loop.defer(alive_.guard([this, error = std::move(error)] { end({}, error); }));
  }

  void end(model::BlockOutputs outputs, std::optional<model::WorkflowError> error) {
    timer_.cancel();
    listener_.on_block_ended(std::move(outputs), std::move(error));
  }

  const FlowNeeds& needs_;
  const FlowOptions& options_;
  const Task task_;
  BlockListener& listener_;
  model::TenantLimits limits_;
  std::optional<model::Run> run_;  // once it is there
  std::unique_ptr<engine::Waiting> waiting_;
  world::Timer timer_;
  bool is_waiting_to_try_ = false;
  bool cancelled_ = false;
  bool draining_ = false;
  Alive alive_;
};

}  // namespace

std::unique_ptr<BlockWork> make_run_work(const FlowNeeds& needs, const FlowOptions& options, const Task& task,
                                         BlockListener& listener) {
  return std::make_unique<RunWork>(needs, options, task, listener);
}

}  // namespace sluice::flow
