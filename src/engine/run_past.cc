#include "engine/run_past.h"

#include "engine/inference.h"
#include "engine/materials.h"
#include "engine/run_lifecycle.h"

namespace sluice::engine {
namespace {

constexpr std::size_t page_bytes = 256 * 1024;

// Reads one thing after the other; kept alive by the answer it waits for.
class PastReading final : public std::enable_shared_from_this<PastReading> {
 public:
  using Done = Callback<void(Result<std::shared_ptr<RunPast>>)>;
  PastReading(store::Store& store, world::Log& log, model::Run run, Done done)
      : store_(store), log_(log), past_(std::make_shared<RunPast>()), done_(std::move(done)) {
    past_->run = std::move(run);
    // What the records say of the message in the making, should they be damaged too.
    past_->assistant_message = {.id = past_->run.message_id, .conversation_id = past_->run.conversation_id};
    past_->assistant_message.role = model::Role::assistant;
    past_->assistant_message.created_at = past_->run.created_at;
  }

  void read_journal() {
    store_.read(past_->run.id, read_to_, page_bytes,
                [self = shared_from_this()](const Result<journal::JournalPage>& page) { self->on_journal(page); });
  }

 private:
  void on_journal(const Result<journal::JournalPage>& page) {
    if (!page) return is_damage(page.error()) ? read_tenant() : done_(page.error());
    for (const auto& committed : page.value().events) {
      read_to_ = committed.position();
      see(committed.event());
    }
    if (read_to_ < past_->run.head && !page.value().events.empty()) return read_journal();
    read_tenant();
  }

  void see(const model::RunEvent& event) {
    using enum model::EventKind;
    past_->steps.see(event);
    past_->told_at = event.at;
    switch (event.kind) {
      case accepted: return read_accepted(event);
      case queued: return read_queued(event);
      case checkpoint:
        past_->checkpoint_used = event.body.empty();
        past_->mark.clear();  // whoever it named is done, and whoever goes on from here is another
        if (!event.body.empty()) past_->checkpoint = event.body;
        return;
      case text: past_->told_text += event.body; return;
      case reasoning: past_->told_reasoning += event.body; return;
      case replaced: return read_replaced(event);
      case gate: past_->results.clear(); return;
      case answers: return read_answers(event);
      case resumed: ++past_->resumed_count; return;
      case mark: past_->mark = event.body; return;
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
    if (model::take_back(past_->told_text, event.body)) return;
    log_.write(world::LogLevel::warn, "event makes no sense", {{"run", past_->run.id.text()}, {"kind", "replaced"}});
  }

  void read_log(const model::RunEvent& event) {
    if (dispatch::is_launch(event)) past_->launched = true;
  }

  void read_answers(const model::RunEvent& event) {
    if (auto read = model::event_as<model::events::Answers>(event)) past_->results = std::move(read->answers.results);
  }

  void read_accepted(const model::RunEvent& event) {
    auto accepted = model::event_as<model::events::Accepted>(event);
    if (!accepted) return;
    past_->request_id = std::move(accepted->request_id);
    past_->traceparent = std::move(accepted->traceparent);
    past_->extras = std::move(accepted->extras);
    if (accepted->conversation.is_missing()) return;
    past_->started_body = model::encode(model::events::Started{std::move(accepted->conversation)}, event.at).body;
  }

  void read_queued(const model::RunEvent& event) {
    const auto queued = model::event_as<model::events::Queued>(event);
    if (queued) past_->told_place = {queued->position.value_or(0), queued->retry_hint_seconds.value_or(0)};
  }

  void read_tenant() {
    store::tenant(store_.database(), past_->run.tenant_id,
                  [self = shared_from_this()](const Result<model::Tenant>& tenant) {
                    if (!tenant && !self->is_damage(tenant.error())) return self->done_(tenant.error());
                    if (tenant) self->past_->limits = tenant.value().limits;
                    self->read_assistant_message();
                  });
  }

  void read_assistant_message() {
    read_message(past_->run.message_id, [self = shared_from_this()](model::Message message) {
      self->past_->assistant_message = std::move(message);
      self->past_->assistant_message.content = self->past_->told_text;
      if (self->past_->run.state == RunState::parked) return self->read_approval();
      self->read_user_message();
    });
  }

  void read_approval() {
    store::open_approval(store_.database(), past_->run.id,
                         [self = shared_from_this()](Result<model::Approval> approval) {
                           if (!approval && !self->is_damage(approval.error())) return self->done_(approval.error());
                           if (approval) self->past_->approval = std::move(approval).take();
                           self->done_(self->past_);
                         });
  }

  void read_user_message() {
    read_message(past_->run.user_message_id, [self = shared_from_this()](model::Message message) {
      self->past_->user_message = std::move(message);
      self->read_conversation();
    });
  }

  void read_conversation() {
    store::conversation(store_.database(), past_->run.tenant_id, past_->run.conversation_id,
                        [self = shared_from_this()](Result<model::Conversation> conversation) {
                          if (!conversation && !self->is_damage(conversation.error())) {
                            return self->done_(conversation.error());
                          }
                          if (conversation) self->past_->conversation = std::move(conversation).take();
                          self->read_agent();
                        });
  }

  void read_agent() {
    store::agent(store_.database(), past_->run.tenant_id, past_->run.agent_id,
                 [self = shared_from_this()](Result<model::Agent> agent) {
                   if (!agent && agent.error().kind != ErrorKind::not_found) return self->done_(agent.error());
                   if (agent) {
                     self->past_->agent = std::move(agent).take();
                     self->past_->agent->kit.agent_type = self->past_->conversation.runtime.agent_type;
                     if (const auto& inference = self->past_->extras.inference) {
                       self->past_->agent = narrowed_to(*inference, *std::move(self->past_->agent));
                     }
                   }
                   self->done_(self->past_);
                 });
  }

  // `then` gets the message; when it is damaged, what is known of the run is all there will be.
  void read_message(model::MessageId id, Callback<void(model::Message)> then) {
    store::message(
        store_.database(), past_->run.tenant_id, id,
        [self = shared_from_this(), then = std::move(then)](const Result<store::StoredMessage>& stored) mutable {
          auto message =
              stored ? model::message_from_json(stored.value().json) : Result<model::Message>(stored.error());
          if (message) return then(std::move(message).take());
          if (!self->is_damage(message.error())) return self->done_(message.error());
          self->past_->assistant_message.content = self->past_->told_text;
          self->done_(self->past_);
        });
  }

  // Is it one run's damage, rather than trouble of the whole store?
  bool is_damage(const Error& why) {
    if (why.kind != ErrorKind::corrupt && why.kind != ErrorKind::not_found) return false;
    log_.write(world::LogLevel::error, "run is damaged", {{"run", past_->run.id.text()}, {"why", why.what}});
    past_->damaged = true;
    return true;
  }

  store::Store& store_;
  world::Log& log_;
  std::shared_ptr<RunPast> past_;
  model::Position read_to_;
  Done done_;
};

}  // namespace

Launch RunPast::to_launch() const {
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

void read_past(store::Store& store, world::Log& log, model::Run run,
               Callback<void(Result<std::shared_ptr<RunPast>>)> done) {
  std::make_shared<PastReading>(store, log, std::move(run), std::move(done))->read_journal();
}

}  // namespace sluice::engine
