#include "engine/run_past.h"

#include "base/check.h"
#include "engine/materials.h"
#include "engine/run_lifecycle.h"

namespace sluice::engine {
namespace {

constexpr std::size_t page_bytes = 256 * 1024;

// Reads one thing after the other, into what it gives in the end.
class PastReading final {
 public:
  PastReading(store::Store& store, world::Log& log, model::Run run) : store_(store), log_(log) {
    past_.run = std::move(run);
    // What the records say of the message in the making, should they be damaged too.
    past_.assistant_message = {.id = past_.run.message_id, .conversation_id = past_.run.conversation_id};
    past_.assistant_message.role = model::Role::assistant;
    past_.assistant_message.created_at = past_.run.created_at;
  }

  Task<Result<RunPast>> read() {
    const auto& run = past_.run;
    if (auto trouble = co_await read_journal()) co_return *std::move(trouble);
    const auto tenant = co_await answer<Result<model::Tenant>>(
        [&](auto done) { store::tenant(store_.database(), run.tenant_id, std::move(done)); });
    if (!tenant && !is_damage(tenant.error())) co_return tenant.error();
    if (tenant) past_.limits = tenant.value().limits;

    auto said = co_await read_message(run.message_id);
    if (!said && !is_damage(said.error())) co_return said.error();
    const bool is_damaged = !said;
    if (!is_damaged) past_.assistant_message = std::move(said).take();
    past_.assistant_message.content = past_.told_text;
    // When a message is damaged, what is known of the run is all there will be.
    if (is_damaged) co_return std::move(past_);
    if (run.state == RunState::parked) co_return co_await with_approval();

    auto asked = co_await read_message(run.user_message_id);
    if (!asked && !is_damage(asked.error())) co_return asked.error();
    if (!asked) co_return std::move(past_);
    past_.user_message = std::move(asked).take();
    co_return co_await with_agent();
  }

 private:
  Task<std::optional<Error>> read_journal() {
    model::Position read_to;
    while (true) {
      const auto page = co_await answer<Result<journal::JournalPage>>(
          [&](auto done) { store_.read(past_.run.id, read_to, page_bytes, std::move(done)); });
      if (!page && is_damage(page.error())) co_return std::nullopt;
      if (!page) co_return page.error();
      for (const auto& committed : page.value().events) {
        SLUICE_CHECK(committed.position().value == read_to.value + 1);
        read_to = committed.position();
        see(committed.event());
      }
      if (read_to >= past_.run.head || page.value().events.empty()) co_return std::nullopt;
    }
  }

  void see(const model::RunEvent& event) {
    using enum model::EventKind;
    past_.steps.see(event);
    past_.told_at = event.at;
    switch (event.kind) {
      case accepted: return read_accepted(event);
      case queued: return read_queued(event);
      case checkpoint:
        past_.checkpoint_used = event.body.empty();
        past_.mark.clear();  // the work that it named is over, and other work resumes from here
        if (!event.body.empty()) past_.checkpoint = event.body;
        return;
      case text: past_.told_text += event.body; return;
      case reasoning: past_.told_reasoning += event.body; return;
      case replaced: return read_replaced(event);
      case gate: past_.results.clear(); return;
      case answers: return read_answers(event);
      case resumed: ++past_.resumed_count; return;
      case mark: past_.mark = event.body; return;
      case log: return read_log(event);
      case started:
      case filler:
      case usage:
      case completed:
      case failed:
      case cancelled:
      case step:
      case output:
      case file:
      case diff:
      case custom:
      case egress:
      case call:
      case subagent:
      case subagent_text: return;
    }
  }

  void read_replaced(const model::RunEvent& event) {
    if (model::take_back(past_.told_text, event.body)) return;
    log_.write(world::LogLevel::warn, "event makes no sense", {{"run", past_.run.id.text()}, {"kind", "replaced"}});
  }

  void read_log(const model::RunEvent& event) {
    if (dispatch::is_launch(event)) past_.launched = true;
  }

  void read_answers(const model::RunEvent& event) {
    if (auto read = model::event_as<model::events::Answers>(event)) past_.results = std::move(read->answers.results);
  }

  void read_accepted(const model::RunEvent& event) {
    auto accepted = model::event_as<model::events::Accepted>(event);
    if (!accepted) return;
    past_.request_id = std::move(accepted->request_id);
    past_.traceparent = std::move(accepted->traceparent);
    past_.extras = std::move(accepted->extras);
    if (accepted->conversation.is_missing()) return;
    past_.started_body = model::encode(model::events::Started{std::move(accepted->conversation)}, event.at).body;
  }

  void read_queued(const model::RunEvent& event) {
    const auto queued = model::event_as<model::events::Queued>(event);
    if (queued) past_.told_place = {queued->position.value_or(0), queued->retry_hint_seconds.value_or(0)};
  }

  Task<Result<model::Message>> read_message(model::MessageId id) {
    const auto stored = co_await answer<Result<store::StoredMessage>>(
        [&](auto done) { store::message(store_.database(), past_.run.tenant_id, id, std::move(done)); });
    if (!stored) co_return stored.error();
    co_return model::message_from_json(stored.value().json);
  }

  Task<Result<RunPast>> with_approval() {
    auto approval = co_await answer<Result<model::Approval>>(
        [&](auto done) { store::open_approval(store_.database(), past_.run.id, std::move(done)); });
    if (!approval && !is_damage(approval.error())) co_return approval.error();
    if (approval) past_.approval = std::move(approval).take();
    co_return std::move(past_);
  }

  Task<Result<RunPast>> with_agent() {
    const auto& run = past_.run;
    auto conversation = co_await answer<Result<model::Conversation>>([&](auto done) {
      store::conversation(store_.database(), run.tenant_id, run.conversation_id, std::move(done));
    });
    if (!conversation && !is_damage(conversation.error())) co_return conversation.error();
    if (conversation) past_.conversation = std::move(conversation).take();
    auto agent = co_await answer<Result<model::Agent>>(
        [&](auto done) { store::agent(store_.database(), run.tenant_id, run.agent_id, std::move(done)); });
    if (!agent && agent.error().kind != ErrorKind::not_found) co_return agent.error();
    if (agent) {
      past_.agent = std::move(agent).take();
      past_.agent->kit.agent_type = past_.conversation.runtime.agent_type;
      if (const auto& inference = past_.extras.inference) {
        past_.agent = narrowed_to(*inference, *std::move(past_.agent));
      }
    }
    co_return std::move(past_);
  }

  // Is it one run's damage, rather than trouble of the whole store?
  bool is_damage(const Error& why) {
    if (why.kind != ErrorKind::corrupt && why.kind != ErrorKind::not_found) return false;
    log_.write(world::LogLevel::error, "run is damaged", {{"run", past_.run.id.text()}, {"why", why.what}});
    past_.damaged = true;
    return true;
  }

  store::Store& store_;
  world::Log& log_;
  RunPast past_;
};

}  // namespace

Launch RunPast::to_launch() const {
  SLUICE_CHECK(agent.has_value());
  Launch launch;
  auto& work = launch.work;
  work.run = run.id;
  work.conversation = run.conversation_id;
  work.agent = *agent;
  work.prompt = user_message.content;
  work.traceparent = traceparent;
  work.extras = extras;
  work.results = results;
  work.checkpoint = checkpoint;
  work.materials.variables = user_message.env.value_or(std::map<std::string, std::string>{});
  launch.names = materials_named(work.agent, conversation.repository_id, user_message);
  launch.runtime = conversation.runtime;
  launch.told_place = told_place;
  launch.started_body = started_body;
  if (run.state == RunState::held || !checkpoint.empty()) return launch;
  work.resumed = true;
  work.told_text = told_text;
  work.told_reasoning = told_reasoning;
  return launch;
}

Launch RunPast::to_reattachment() const {
  auto launch = to_launch();
  launch.work.checkpoint.clear();
  launch.work.resumed = true;
  launch.work.told_text = told_text;
  launch.work.told_reasoning = told_reasoning;
  launch.work.mark = mark;
  return launch;
}

Task<Result<RunPast>> read_past(store::Store& store, world::Log& log, model::Run run) {
  PastReading reading(store, log, std::move(run));
  co_return co_await reading.read();
}

}  // namespace sluice::engine
