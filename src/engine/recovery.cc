#include "engine/recovery.h"

namespace sluice::engine {
namespace {

constexpr int at_once = 32;
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

void Recovery::give_up(const Error& why) {
  waiting_.clear();
  if (done_) std::exchange(done_, nullptr)(Error(why).in("recover"));
}

void Recovery::take_over(const model::Run& run) {
  if (engine_.find(run.id) != nullptr) return one_done();
  engine_.needs_.store.take_over(run.id, run.epoch, while_alive([this](Result<model::Run> taken) {
                                   // Somebody else was quicker: it is theirs.
                                   if (!taken && taken.error().kind == ErrorKind::conflict) return one_done();
                                   if (!taken) return give_up(taken.error());
                                   auto past = std::make_shared<Past>();
                                   past->run = std::move(taken).take();
                                   read_journal(std::move(past));
                                 }));
}

void Recovery::read_journal(std::shared_ptr<Past> past) {
  engine_.needs_.store.journal(past->run.id, past->read_to, page_bytes,
                               while_alive([this, past](Result<store::JournalPage> page) {
                                 if (!page && page.error().kind == ErrorKind::corrupt) {
                                   engine_.needs_.log.write(world::LogLevel::error, "journal is damaged",
                                                            {{"run", past->run.id.text()}, {"why", page.error().what}});
                                   past->damaged = true;
                                   return read_messages(past);
                                 }
                                 if (!page) return give_up(page.error());
                                 for (const auto& committed : page.value().events) {
                                   const auto& event = committed.event();
                                   past->read_to = committed.position();
                                   if (event.kind == model::EventKind::text) past->told_text += event.body;
                                   if (event.kind == model::EventKind::reasoning) past->told_reasoning += event.body;
                                   if (event.kind != model::EventKind::accepted) continue;
                                   auto body = json::Document::parse(event.body);
                                   if (!body) continue;
                                   const auto text = [&](std::string_view name) {
                                     const auto found = body.value().root().find(name);
                                     return std::string(found ? found->string().value_or("") : "");
                                   };
                                   past->request_id = text("request_id");
                                   past->traceparent = text("traceparent");
                                 }
                                 if (past->read_to < past->run.head && !page.value().events.empty())
                                   return read_journal(past);
                                 read_messages(past);
                               }));
}

void Recovery::read_messages(std::shared_ptr<Past> past) {
  auto& store = engine_.needs_.store;
  store.message(past->run.tenant_id, past->run.message_id,
                while_alive([this, past, &store](Result<store::StoredMessage> assistant) {
                  if (!assistant) return give_up(assistant.error());
                  auto message = model::message_from_json(assistant.value().json);
                  if (!message) return give_up(message.error());
                  past->assistant_message = std::move(message).take();
                  past->assistant_message.content = past->told_text;
                  store.message(past->run.tenant_id, past->run.user_message_id,
                                while_alive([this, past](Result<store::StoredMessage> user) {
                                  if (!user) return give_up(user.error());
                                  auto prompt = model::message_from_json(user.value().json);
                                  if (!prompt) return give_up(prompt.error());
                                  past->prompt = std::move(prompt.value().content);
                                  read_agent(past);
                                }));
                }));
}

void Recovery::read_agent(std::shared_ptr<Past> past) {
  engine_.needs_.store.agent(past->run.tenant_id, past->run.agent_id,
                             while_alive([this, past](Result<model::Agent> agent) {
                               if (!agent && agent.error().kind != ErrorKind::not_found) return give_up(agent.error());
                               take_up(past, std::move(agent));
                               one_done();
                             }));
}

void Recovery::take_up(const std::shared_ptr<Past>& past, Result<model::Agent> agent) {
  auto& live = engine_.enter(past->run, past->assistant_message, past->request_id);
  engine_.figures_.recovered.add();
  const auto duty = step(past->run.state, Happening::server_restarted)->then;

  // Cancelling was on disk already: pressing the button again repeats its duty.
  if (duty == Duty::interrupt) return live.resume_cancelling();

  model::Problem problem;
  problem.slug = model::Slug::run_interrupted;
  if (past->damaged) {
    problem.detail = "The server restarted, and the run's journal is damaged.";
    return live.fail(std::move(problem));
  }
  if (!agent) {
    problem.detail = "The server restarted, and the run's agent no longer exists.";
    return live.fail(std::move(problem));
  }
  if (!engine_.needs_.dispatcher.can_resume(agent.value(), past->told_text)) {
    problem.detail = "The server restarted after part of the answer had been told; the model cannot go on from there.";
    return live.fail(std::move(problem));
  }
  harness::Dispatch work{.run = past->run.id, .conversation = past->run.conversation_id};
  work.agent = std::move(agent).take();
  work.prompt = past->prompt;
  work.traceparent = past->traceparent;
  work.resumed = true;
  work.told_text = past->told_text;
  work.told_reasoning = past->told_reasoning;
  engine_.start_work(past->run.id, std::move(work));
}

}  // namespace sluice::engine
