#include "engine/recovery.h"

#include "engine/materials.h"

namespace sluice::engine {
namespace {

constexpr int at_once = 32;
constexpr int64_t again_ms = 500;
constexpr std::size_t page_bytes = 256 * 1024;

}  // namespace

void Recovery::start(Callback<void(Result<Unit>)> done) {
  done_ = std::move(done);
  engine_.needs_.store.unfinished_runs(while_alive([this](Result<std::vector<model::Run>> runs) {
    if (!runs) return give_up(runs.error());
    waiting_.assign(runs.value().begin(), runs.value().end());
    if (!waiting_.empty()) {
      engine_.needs_.log.write(world::LogLevel::info, "taking up unfinished runs",
                               {{"count", static_cast<int64_t>(waiting_.size())}});
    }
    ++under_way_;
    one_done();
  }));
}

void Recovery::one_done() {
  --under_way_;
  take_next();
}

void Recovery::take_next() {
  while (under_way_ < at_once && !waiting_.empty()) {
    const auto run = waiting_.front();
    waiting_.pop_front();
    ++under_way_;
    take_over(run);
  }
  if (under_way_ == 0 && done_) std::exchange(done_, nullptr)(Unit{});
}

void Recovery::stumble(const model::Run& run, const Error& why) {
  if (why.kind == ErrorKind::unavailable) return give_up(why);
  if (why.kind == ErrorKind::overloaded) {
    // Nothing was done, so its turn comes again; meanwhile it counts as under way.
    waiting_.push_back(run);
    again_ = engine_.needs_.loop.after({again_ms}, [this] {
      under_way_ -= std::exchange(stumbled_, 0);
      take_next();
    });
    ++stumbled_;
    return;
  }
  // One run's damage is no reason to leave the others lying.
  engine_.needs_.log.write(world::LogLevel::error, "run cannot be taken up",
                           {{"run", run.id.text()}, {"why", why.what}});
  one_done();
}

void Recovery::give_up(const Error& why) {
  waiting_.clear();
  if (done_) std::exchange(done_, nullptr)(Error(why).in("recover"));
}

void Recovery::take_over(const model::Run& run) {
  if (engine_.find(run.id) != nullptr) return one_done();
  engine_.needs_.store.take_over(
      run.id, run.epoch, while_alive([this, run](Result<model::Run> taken) { on_taken(run, std::move(taken)); }));
}

void Recovery::on_taken(const model::Run& run, Result<model::Run> taken) {
  // Somebody else was quicker: it is theirs.
  if (!taken && taken.error().kind == ErrorKind::conflict) return one_done();
  if (!taken) return stumble(run, taken.error());
  auto past = std::make_shared<Past>();
  past->run = std::move(taken).take();
  // What the records say of the message in the making, should they be damaged too.
  past->assistant_message = {.id = past->run.message_id, .conversation_id = past->run.conversation_id};
  past->assistant_message.role = model::Role::assistant;
  past->assistant_message.created_at = past->run.created_at;
  read_journal(past);
}

void Recovery::read_journal(const std::shared_ptr<Past>& past) {
  engine_.needs_.store.journal(
      past->run.id, past->read_to, page_bytes,
      while_alive([this, past](const Result<store::JournalPage>& page) { on_journal(past, page); }));
}

void Recovery::on_journal(const std::shared_ptr<Past>& past, const Result<store::JournalPage>& page) {
  if (!page && !note_damage(*past, page.error())) return stumble(past->run, page.error());
  if (!page) return read_assistant_message(past);
  for (const auto& committed : page.value().events) {
    const auto& event = committed.event();
    past->read_to = committed.position();
    if (event.kind == model::EventKind::text) past->told_text += event.body;
    if (event.kind == model::EventKind::reasoning) past->told_reasoning += event.body;
    past->steps.see(event);
    if (event.kind == model::EventKind::accepted) read_accepted(*past, event.body);
  }
  if (past->read_to < past->run.head && !page.value().events.empty()) return read_journal(past);
  read_assistant_message(past);
}

void Recovery::read_accepted(Past& past, std::string_view body) {
  const auto document = json::Document::parse(body);
  if (!document) return;
  const auto text = [&](std::string_view name) {
    const auto found = document.value().root().find(name);
    return std::string(found ? found->string().value_or("") : "");
  };
  past.request_id = text("request_id");
  past.traceparent = text("traceparent");
}

void Recovery::read_assistant_message(const std::shared_ptr<Past>& past) {
  read_message(past, past->run.message_id, [this, past](model::Message message) {
    past->assistant_message = std::move(message);
    read_user_message(past);
  });
}

void Recovery::read_user_message(const std::shared_ptr<Past>& past) {
  read_message(past, past->run.user_message_id, [this, past](model::Message message) {
    past->user_message = std::move(message);
    read_conversation(past);
  });
}

void Recovery::read_conversation(const std::shared_ptr<Past>& past) {
  auto read = [this, past](const Result<model::Conversation>& conversation) {
    if (!conversation && !note_damage(*past, conversation.error())) return stumble(past->run, conversation.error());
    if (conversation) past->repository_id = conversation.value().repository_id;
    read_agent(past);
  };
  engine_.needs_.store.conversation(past->run.tenant_id, past->run.conversation_id, while_alive(std::move(read)));
}

// `then` gets the message; when it is damaged, the run is ended with what is known of it.
void Recovery::read_message(const std::shared_ptr<Past>& past, model::MessageId id,
                            Callback<void(model::Message)> then) {
  auto read = [this, past, then = std::move(then)](const Result<store::StoredMessage>& stored) mutable {
    auto message = stored ? model::message_from_json(stored.value().json) : Result<model::Message>(stored.error());
    if (message) return then(std::move(message).take());
    if (!note_damage(*past, message.error())) return stumble(past->run, message.error());
    read_agent(past);
  };
  engine_.needs_.store.message(past->run.tenant_id, id, while_alive(std::move(read)));
}

// Is it one run's damage, rather than trouble of the whole store?
bool Recovery::note_damage(Past& past, const Error& why) {
  if (why.kind != ErrorKind::corrupt && why.kind != ErrorKind::not_found) return false;
  engine_.needs_.log.write(world::LogLevel::error, "run is damaged", {{"run", past.run.id.text()}, {"why", why.what}});
  past.damaged = true;
  return true;
}

void Recovery::read_agent(const std::shared_ptr<Past>& past) {
  past->assistant_message.content = past->told_text;
  auto read = [this, past](Result<model::Agent> agent) {
    if (!agent && agent.error().kind != ErrorKind::not_found) return stumble(past->run, agent.error());
    take_up(past, std::move(agent));
    one_done();
  };
  engine_.needs_.store.agent(past->run.tenant_id, past->run.agent_id, while_alive(std::move(read)));
}

void Recovery::take_up(const std::shared_ptr<Past>& past, Result<model::Agent> agent) {
  auto& live = engine_.enter(past->run, past->assistant_message, past->request_id);
  engine_.figures_.recovered.add();
  live.remember_steps(past->steps);
  const auto duty = step(past->run.state, Happening::server_restarted)->then;

  // Cancelling was on disk already: pressing the button again repeats its duty.
  if (duty == Duty::interrupt) return live.resume_cancelling();

  model::Problem problem;
  problem.slug = model::Slug::run_interrupted;
  if (past->damaged) {
    problem.detail = "The server restarted, and what it had written of the run is damaged.";
    return live.fail(std::move(problem));
  }
  if (!agent) {
    problem.detail = "The server restarted, and the run's agent no longer exists.";
    return live.fail(std::move(problem));
  }
  if (past->steps.saw_any()) {
    // Its box died with the server. What a command did before is not known, so it is not done again.
    problem.detail = "The server restarted while the agent was at work in its sandbox; what it did there is gone.";
    return live.fail(std::move(problem));
  }
  if (!engine_.needs_.dispatcher.can_resume(agent.value(), past->told_text)) {
    problem.detail = "The server restarted after part of the answer had been told; the model cannot go on from there.";
    return live.fail(std::move(problem));
  }
  harness::Dispatch work{.run = past->run.id, .conversation = past->run.conversation_id};
  work.agent = std::move(agent).take();
  work.prompt = past->user_message.content;
  work.traceparent = past->traceparent;
  work.resumed = true;
  work.told_text = past->told_text;
  work.told_reasoning = past->told_reasoning;
  const auto names = materials_named(work.agent, past->repository_id, past->user_message);
  work.materials.variables = past->user_message.env.value_or(std::map<std::string, std::string>{});
  engine_.start_work(past->run.id, std::move(work), names);
}

}  // namespace sluice::engine
