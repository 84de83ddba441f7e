#include "engine/acceptance.h"

#include "base/check.h"
#include "engine/materials.h"
#include "engine/problems.h"
#include "model/event_codec.h"

namespace sluice::engine {
namespace {

model::RawJson shown(const model::Conversation* made) { return {made == nullptr ? "" : model::to_json(*made)}; }

model::RunEvent accepted_event(const Send& send, const model::Conversation* shown_later, Timestamp at) {
  return model::encode(model::events::Accepted{.request_id = send.request_id,
                                               .traceparent = send.traceparent,
                                               .conversation = shown(shown_later),
                                               .extras = send.extras},
                       at);
}

model::RunEvent started_event(const Send& send, Timestamp at) {
  return model::encode(model::events::Started{shown(std::get_if<model::Conversation>(&send.conversation))}, at);
}

// Under no idempotency key, so only the run's own name tells.
model::Problem known_already(model::RunId run) {
  return unavailable("The run " + run.text() + " exists already, or is just being written: look for it.");
}

model::ConversationId conversation_of(const Send& send) {
  const auto* existing = std::get_if<model::ConversationId>(&send.conversation);
  return existing != nullptr ? *existing : std::get<model::Conversation>(send.conversation).id;
}

// As a message names its materials.
model::Message materials_of(const Send& send) {
  model::Message asked;
  asked.repository_id = send.repository_id;
  asked.skill_ids = send.skill_ids;
  asked.env_name = send.env_name;
  return asked;
}

// What the run's launch asks the store, by the agent and the conversation that the store finds.
journal::AskForLaunch question_of(const Send& send) {
  return [asked = materials_of(send), extras = send.extras](const model::Agent& agent,
                                                            const model::Conversation& conversation) {
    const auto narrowed = extras.inference ? narrowed_to(*extras.inference, agent) : agent;
    return journal::LaunchQuestion{materials_named(narrowed, conversation.repository_id, asked),
                                   history_turns_max(narrowed, extras)};
  };
}

model::Problem no_room_on(const world::DiskRoom& disk) {
  constexpr int64_t mib = 1024 * 1024;
  auto problem = unavailable("The server's disk has " + std::to_string(disk.free_bytes() / mib) +
                             " MiB free, less than the " + std::to_string(disk.free_bytes_min() / mib) +
                             " MiB below which no runs are begun (limits.disk_free_bytes_min); nothing was created. "
                             "Archive conversations that are not needed any more, or have the operator make room.");
  problem.retry_after_seconds = 30;
  return problem;
}

}  // namespace

Acceptance::Acceptance(Needs needs)
    : needs_(needs), accepted_(needs.metrics.counter("sluice_runs_accepted_total", "Messages accepted.")) {}

void Acceptance::send(Send send, Callback<void(SendOutcome)> done) {
  auto shared = std::make_shared<Send>(std::move(send));
  const auto* made = std::get_if<model::Conversation>(&shared->conversation);
  const bool is_default = made != nullptr && made->agent_id == model::AgentId{};
  if (made == nullptr || (!is_default && !made->runtime.agent_type.empty())) {
    return accept(std::move(shared), std::move(done));
  }
  // The stream's first event shows the conversation, so its agent must be known before it is written.
  auto settle = [this, shared, done = std::move(done)](const Result<model::Agent>& agent) mutable {
    auto& conversation = std::get<model::Conversation>(shared->conversation);
    if (!agent && agent.error().kind != ErrorKind::not_found) return done(problem_of_store(agent.error()));
    if (agent) {
      conversation.agent_id = agent.value().id;
      if (conversation.runtime.agent_type.empty()) conversation.runtime.agent_type = agent.value().kit.agent_type;
    }
    accept(shared, std::move(done));  // where there is no such agent the store says so, or knows the key
  };
  if (is_default)
    return store::default_agent(needs_.store.database(), shared->tenant, lifetime_.guard(std::move(settle)));
  store::agent(needs_.store.database(), shared->tenant, made->agent_id, lifetime_.guard(std::move(settle)));
}

void Acceptance::accept(std::shared_ptr<Send> send, Callback<void(SendOutcome)> done) {
  if (auto problem = needs_.host.refusal_now()) return done(*std::move(problem));
  if (needs_.disk != nullptr && needs_.disk->is_short()) send->refusal = no_room_on(*needs_.disk);
  if (send->refusal && !send->idempotency) return done(*send->refusal);
  // A caller that does not know what became of its run asks again under the run's name.
  if (send->run && (needs_.live.find(*send->run) != nullptr || needs_.admission.knows(*send->run)))
    return done(known_already(*send->run));
  const auto run = send->run.value_or(needs_.ids.make<model::RunId>());
  Place place;
  const auto answer =
      send->refusal
          ? Admission::Answer::refused
          : needs_.admission.ask({run, send->tenant, conversation_of(*send), send->tenant_limits}, send->hold, place);
  const bool refused = answer == Admission::Answer::refused;
  // The store is asked all the same where it may know a better answer: the key, or that the conversation is busy.
  if (refused && !send->idempotency && !needs_.admission.run_of(conversation_of(*send)))
    return done(no_room(send->hold));

  const bool is_held = answer == Admission::Answer::held;
  SLUICE_CHECK(is_held == (place.position > 0));
  const auto first = *step(RunState::accepted, is_held ? Happening::pool_full : Happening::admitted);
  auto fresh = fresh_run(*send, run, first, is_held ? std::optional(place) : std::nullopt);
  fresh.only_replay = refused;
  // A run that waits for its slot reads what there is when its turn comes.
  if (!is_held) fresh.ask = question_of(*send);
  auto message = fresh.assistant_message;
  auto on_answer = [this, send, run, message = std::move(message), first,
                    watch = needs_.recoveries.since_drop().watch(),
                    done = std::move(done)](Result<journal::AcceptOutcome> outcome) mutable {
    if (outcome && watch.is_over() && std::holds_alternative<journal::Accepted>(outcome.value())) {
      return done(accepted_too_late(std::get<journal::Accepted>(outcome.value()).run));
    }
    if (!outcome || !std::holds_alternative<journal::Accepted>(outcome.value())) needs_.admission.leave(run, false);
    if (outcome) return done(on_accepted(*send, std::move(message), first.then, std::move(outcome).take()));
    if (outcome.error().kind == ErrorKind::unavailable) needs_.host.store_fell_silent(outcome.error());
    if (outcome.error().kind == ErrorKind::invalid) {
      return done(send->secrets.empty() ? name_taken(outcome.error(), "created") : too_many_secrets(outcome.error()));
    }
    if (outcome.error().kind == ErrorKind::conflict && send->run) return done(known_already(run));
    needs_.log.write(world::LogLevel::warn, "message refused by the store", {{"why", outcome.error().what}});
    done(problem_of_store(outcome.error()));
  };
  needs_.store.accept(std::move(fresh), lifetime_.guard(std::move(on_answer)));
}

journal::NewRun Acceptance::fresh_run(const Send& send, model::RunId run, const Row& first, std::optional<Place> held) {
  const auto now = needs_.loop.now();
  // How long one that waits may do so is judged by it, by whichever server has it then.
  const auto created_at = held ? needs_.clock.now() : now;
  const auto conversation = conversation_of(send);
  const auto* made = std::get_if<model::Conversation>(&send.conversation);
  journal::NewRun fresh;
  fresh.user_message = {.id = needs_.ids.make<model::MessageId>(), .conversation_id = conversation};
  fresh.user_message.content = send.content;
  fresh.user_message.repository_id = send.repository_id;
  fresh.user_message.skill_ids = send.skill_ids;
  fresh.user_message.env = send.env;
  fresh.user_message.env_name = send.env_name;
  fresh.user_message.created_at = created_at;
  fresh.assistant_message = {.id = needs_.ids.make<model::MessageId>(), .conversation_id = conversation};
  fresh.assistant_message.role = model::Role::assistant;
  fresh.assistant_message.status = model::MessageStatus::in_progress;
  fresh.assistant_message.created_at = created_at;
  fresh.run = {.id = run, .tenant_id = send.tenant, .conversation_id = conversation};
  SLUICE_CHECK(first.from == RunState::accepted && held.has_value() == (first.to == RunState::held));
  needs_.duties.on_step(fresh.run, first);
  fresh.run.state = first.to;
  fresh.run.user_message_id = fresh.user_message.id;
  fresh.run.message_id = fresh.assistant_message.id;
  fresh.run.created_at = created_at;
  if (made != nullptr) fresh.conversation = *made;
  fresh.idempotency = send.idempotency;
  fresh.secrets = send.secrets;
  fresh.audit = send.audit;
  if (const auto& agui = send.extras.agui) {
    fresh.agui = {.thread_id = agui->thread_id, .run_id = agui->run_id};
    if (agui->replaces) fresh.replaces_from = model::MessageId::parse(*agui->replaces);
  }
  if (const auto& chat = send.extras.chat) {
    for (const auto& file : chat->attachments) {
      if (const auto id = model::FileId::parse(file.id)) fresh.attached.push_back(*id);
    }
  }
  if (held) {
    fresh.events.push_back(accepted_event(send, made, now));
    fresh.events.push_back({model::EventKind::queued, now, body_of(*held)});
  } else {
    // Accepted and started in one write.
    fresh.events.push_back(accepted_event(send, nullptr, now));
    fresh.events.push_back(started_event(send, now));
  }
  return fresh;
}

SendOutcome Acceptance::on_accepted(const Send& send, model::Message message, Duty duty,
                                    journal::AcceptOutcome outcome) {
  if (auto* replay = std::get_if<journal::Replay>(&outcome)) {
    if (replay->run) return Sent{std::move(*replay->run), true};
    needs_.log.write(world::LogLevel::error, "the run of an idempotency key is missing",
                     {{"request_id", send.request_id}, {"conversation", conversation_of(send).text()}});
    return problem_of(model::Slug::internal,
                      "This Idempotency-Key was used within 24 hours, and the record of the run that it began is "
                      "damaged, so nothing can be replayed and nothing was created. Look at the conversation's "
                      "messages; the operator learns more from `sluice store verify`.");
  }
  if (std::holds_alternative<journal::KeyConflict>(outcome)) {
    return problem_of(model::Slug::idempotency_key_conflict,
                      "This Idempotency-Key was used within 24 hours for a request with another body.");
  }
  if (send.refusal) return *send.refusal;
  if (std::holds_alternative<journal::Archived>(outcome)) {
    return problem_of(model::Slug::conversation_archived, "The conversation is archived; nothing was created.");
  }
  if (auto* busy = std::get_if<journal::Busy>(&outcome)) {
    auto problem = problem_of(model::Slug::conversation_busy,
                              "The conversation is answering another message; nothing was created.");
    problem.conflicting_resource_id = busy->run.id.text();
    return problem;
  }
  if (std::holds_alternative<journal::NotCreated>(outcome)) return no_room(send.hold);
  return enter(send, std::move(message), duty, std::move(std::get<journal::Accepted>(outcome)));
}

// All runs were dropped while this one was being written; it is recovered as they are.
SendOutcome Acceptance::accepted_too_late(const model::Run& run) {
  needs_.admission.leave(run.id, false);
  needs_.recoveries.carry(run, true);
  return Sent{run, false};
}

SendOutcome Acceptance::enter(const Send& send, model::Message message, Duty duty, journal::Accepted accepted) {
  accepted_.add();
  const auto run = accepted.run;
  auto& live = needs_.host.enter(run, std::move(message), send.request_id);
  SLUICE_CHECK(run.state == RunState::held || run.state == RunState::streaming);
  SLUICE_CHECK(run.head.value == accepted.events.size());
  SLUICE_CHECK(run.agent_id == accepted.agent.id && run.conversation_id == accepted.conversation.id);
  SLUICE_CHECK(run.state == RunState::streaming || !accepted.launch);
  live.keep_opening(std::move(accepted.events));
  needs_.admission.confirm(run.id);

  Launch launch;
  auto& work = launch.work;
  work.run = run.id;
  work.conversation = accepted.conversation.id;
  work.agent = std::move(accepted.agent);
  work.agent.kit.agent_type = accepted.conversation.runtime.agent_type;
  if (send.extras.inference) work.agent = narrowed_to(*send.extras.inference, std::move(work.agent));
  work.prompt = send.content;
  work.extras = send.extras;
  const bool filler = send.message_filler.value_or(accepted.conversation.filler_enabled.value_or(send.tenant_filler));
  work.filler = filler && send.streamed;
  work.traceparent = send.traceparent;
  launch.names = materials_named(work.agent, accepted.conversation.repository_id, materials_of(send));
  launch.records = std::move(accepted.launch);
  work.materials.variables = send.env.value_or(std::map<std::string, std::string>{});
  launch.runtime = accepted.conversation.runtime;
  if (run.state == RunState::held) launch.started_body = started_event(send, {}).body;
  live.work().keep_launch(std::move(launch));
  SLUICE_CHECK(needs_.admission.knows(run.id));
  live.perform(duty);
  return Sent{run, false};
}

model::Problem Acceptance::no_room(bool would_wait) const {
  auto problem = problem_of(model::Slug::capacity_exhausted,
                            would_wait ? "All slots are taken and the queue is full; nothing was created."
                                       : "All slots are taken; nothing was created.");
  problem.retry_after_seconds = needs_.admission.retry_hint_seconds();
  return problem;
}

}  // namespace sluice::engine
