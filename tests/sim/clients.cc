#include "tests/sim/clients.h"

#include <algorithm>

namespace sluice::sim {
namespace {

constexpr wire::Format formats[] = {wire::Format::ndjson,    wire::Format::ndjson,      wire::Format::sse,
                                    wire::Format::full_sse,  wire::Format::full_ndjson, wire::Format::trace,
                                    wire::Format::assistant, wire::Format::agui_ndjson};
constexpr int tries_max = 50;

}  // namespace

int64_t Reading::last_seq() const {
  std::string_view text_seen = text;
  const std::string_view end = wire::is_sse(view.format) ? "\n\n" : "\n";
  int64_t lines = 0;
  for (auto at = text_seen.find(end); at != std::string_view::npos; at = text_seen.find(end, at + end.size())) ++lines;
  return view.after + lines;
}

Clients::Clients(Needs needs, Chance chance, std::vector<model::Tenant> tenants)
    : needs_(needs), chance_(chance), tenants_(std::move(tenants)) {}

const model::Tenant& Clients::tenant_of(model::TenantId id) const {
  return *std::ranges::find(tenants_, id, &model::Tenant::id);
}

void Clients::learn(const model::Run& run) {
  if (std::ranges::find(testimony_.known, run.id, &model::Run::id) == testimony_.known.end()) {
    testimony_.known.push_back(run);
  }
}

// ── conversations and messages ──────────────────────────────────────────────────────────────────

void Clients::open_conversation(Server& server) {
  auto& tenant = chance_.pick(tenants_);
  model::Conversation made{.id = needs_.ids.make<model::ConversationId>(), .tenant_id = tenant.id};
  if (chance_.one_in(4)) made.runtime = {.mode = model::PlacementMode::sticky, .sticky_ttl_seconds = 5};
  const Known known{made.id, tenant.id};
  server.store().create_conversation({made, "", {}}, [this, known](const Result<journal::ConversationOutcome>& done) {
    if (done) conversations_.push_back(known);
  });
}

void Clients::send(const Servers& ready) {
  auto at = ready;
  if (conversations_.empty() || chance_.one_in(8)) {
    const auto sending = std::make_shared<Sending>();
    auto& tenant = chance_.pick(tenants_);
    sending->made = model::Conversation{.id = needs_.ids.make<model::ConversationId>(), .tenant_id = tenant.id};
    sending->tenant = tenant.id;
    sending->conversation = sending->made->id;
    sending->number = ++numbers_;
    sending->content = prompt_of(chance_.next(), "message " + std::to_string(sending->number));
    sending->hold = chance_.percent(70);
    if (chance_.one_in(2)) sending->key = "key " + std::to_string(sending->number);
    testimony_.sendings.push_back(sending);
    return ask(sending, chance_.pick(at));
  }
  send_in(ready, chance_.pick(conversations_).id, chance_.percent(70));
}

void Clients::send_in(const Servers& ready, model::ConversationId conversation, bool hold, bool is_probe) {
  auto at = ready;
  const auto known = std::ranges::find(conversations_, conversation, &Known::id);
  const auto sending = std::make_shared<Sending>();
  sending->tenant = known->tenant;
  sending->conversation = conversation;
  sending->number = ++numbers_;
  sending->content = prompt_of(chance_.next(), "message " + std::to_string(sending->number));
  sending->hold = hold;
  sending->is_probe = is_probe;
  sending->after_archive = is_archived(conversation);
  if (chance_.percent(60)) sending->key = "key " + std::to_string(sending->number);
  if (chance_.percent(25)) sending->secret = "secret of message " + std::to_string(sending->number);
  testimony_.sendings.push_back(sending);
  ask(sending, chance_.pick(at));
  // The same request, delivered twice.
  if (!sending->key.empty() && chance_.one_in(4)) ask(sending, chance_.pick(at));
}

void Clients::ask(const std::shared_ptr<Sending>& sending, const std::shared_ptr<Server>& server) {
  engine::Send send;
  send.tenant = sending->tenant;
  send.conversation = sending->conversation;
  if (sending->made) send.conversation = *sending->made;
  send.content = sending->content;
  send.tenant_limits = tenant_of(sending->tenant).limits;
  send.hold = sending->hold;
  send.request_id = "req_" + std::to_string(sending->number);
  if (!sending->key.empty()) {
    const auto principal = model::ServiceKeyId{sending->tenant.ulid};
    send.idempotency = journal::Idempotency{principal, "createMessage", sending->key, sending->content};
  }
  if (!sending->secret.empty()) {
    model::SealedSecret secret{
        .tenant_id = sending->tenant, .scope = model::SecretScope::conversation, .owner = sending->conversation.ulid};
    secret.alias = secret_alias;
    secret.created_at = secret.updated_at = server->loop().now();
    secret.sealed = needs_.sealer.seal(sending->tenant, vault::context_of(secret), sending->secret);
    send.secrets.push_back(std::move(secret));
  }
  ++sending->tries;
  sending->asked.push_back(server);
  needs_.verdict.count("requests");
  needs_.verdict.note("ask " + server->name() + " to answer message " + std::to_string(sending->number) + " in " +
                      sending->conversation.text() + (sending->key.empty() ? "" : " with a key") +
                      (sending->hold ? ", may wait" : ""));
  server->engine().send(std::move(send), [this, sending, server](const engine::SendOutcome& outcome) {
    if (!server->is_dead()) on_sent(*sending, server, outcome);
  });
}

void Clients::on_sent(Sending& sending, const std::shared_ptr<Server>& server, const engine::SendOutcome& outcome) {
  const auto asked = std::ranges::find(sending.asked, server);
  if (asked != sending.asked.end()) sending.asked.erase(asked);
  const auto what = "message " + std::to_string(sending.number);
  if (const auto* problem = std::get_if<model::Problem>(&outcome)) {
    needs_.verdict.note(what + " is refused: " + std::string(model::entry_of(problem->slug).name));
    if (sending.is_probe && problem->slug == model::Slug::conversation_busy) {
      needs_.verdict.wrong("stuck", sending.conversation.text() + " is busy with nothing");
    }
    // Nobody knows whether it was written: whoever has a key asks again.
    const bool again = problem->slug == model::Slug::unavailable && !sending.key.empty();
    if (!again) sending.is_done = true;
    return;
  }
  const auto& sent = std::get<engine::Sent>(outcome);
  needs_.verdict.note(what + " is accepted as " + sent.run.id.text() + (sent.replayed ? ", known already" : ""));
  if (sending.after_archive && !sent.replayed) {
    needs_.verdict.wrong("I-3", what + " was accepted though the conversation was archived");
  }
  sending.is_done = true;
  sending.runs.insert(sent.run.id);
  if (sending.made && std::ranges::find(conversations_, sending.conversation, &Known::id) == conversations_.end()) {
    conversations_.push_back({sending.conversation, sending.tenant});
  }
  learn(sent.run);
}

void Clients::archive(const Servers& ready) {
  if (conversations_.empty()) return;
  auto at = ready;
  const auto server = chance_.pick(at);
  const auto known = chance_.pick(conversations_);
  const auto archiving = std::make_shared<Archiving>(Archiving{known.id});
  testimony_.archivings.push_back(archiving);
  needs_.verdict.note("archive " + known.id.text() + " at " + server->name());
  store::ConversationPatch patch;
  patch.status = model::ConversationStatus::archived;
  store::update_conversation(server->store().database(), known.tenant, known.id, std::move(patch), server->loop().now(),
                             [archiving, server](const Result<model::Conversation>& done) {
                               if (!done || server->is_dead()) return;
                               archiving->told = true;
                               server->engine().conversation_changed(done.value());
                             });
}

// ── reading ─────────────────────────────────────────────────────────────────────────────────────

void Clients::read(const Servers& ready) {
  if (testimony_.known.empty()) return;
  auto at = ready;
  const auto format = formats[chance_.below(std::size(formats))];
  read_one(chance_.pick(at), chance_.pick(testimony_.known), {.format = format});
}

void Clients::read_one(const std::shared_ptr<Server>& server, const model::Run& run, wire::View view) {
  const auto reading = std::make_shared<Reading>(server, run, view);
  reading->slow = chance_.one_in(3);
  needs_.verdict.count("readings");
  reading->place = server->engine().read(run, view, *reading);
  testimony_.readings.push_back(reading);
}

void Clients::wait(const Servers& ready) {
  if (testimony_.known.empty()) return;
  auto at = ready;
  const auto awaiting = std::make_shared<Awaiting>();
  awaiting->server = chance_.pick(at);
  awaiting->run = chance_.pick(testimony_.known);
  awaiting->place =
      awaiting->server->engine().wait_for_end(awaiting->run, [awaiting = awaiting.get()](Result<wire::Ending> ending) {
        if (awaiting->server->is_dead()) return;
        if (ending)
          awaiting->ending = std::move(ending).take();
        else
          awaiting->failed = true;
      });
  testimony_.awaitings.push_back(awaiting);
}

// ── deciding and cancelling ─────────────────────────────────────────────────────────────────────

// They know an approval from a list; somebody else may be quicker.
void Clients::decide(const Servers& ready) {
  auto at = ready;
  const auto server = chance_.pick(at);
  if (!approvals_.empty() && chance_.one_in(2)) {
    const auto approval = chance_.pick(approvals_);
    const bool approve = chance_.percent(70);
    decide_one(server, approval, approve);
    if (chance_.one_in(3)) decide_one(chance_.pick(at), approval, chance_.one_in(2));
    return;
  }
  const auto tenant = chance_.pick(tenants_).id;
  store::ApprovalFilter filter;
  if (!chance_.one_in(5)) filter.status = model::ApprovalStatus::pending;
  store::approvals(server->store().database(), tenant, filter, {.limit = 5},
                   [this](const Result<store::Page<model::Approval>>& page) {
                     if (!page) return;
                     for (const auto& row : page.value().rows) {
                       if (std::ranges::find(approvals_, row.id, &model::Approval::id) == approvals_.end())
                         approvals_.push_back(row);
                     }
                   });
}

void Clients::decide_one(const std::shared_ptr<Server>& server, const model::Approval& approval, bool approve) {
  const auto deciding = std::make_shared<Deciding>();
  deciding->server = server;
  deciding->approval = approval;
  deciding->approve = approve;
  deciding->by = "approver_key:" + std::to_string(testimony_.decidings.size());
  testimony_.decidings.push_back(deciding);
  needs_.verdict.count("decisions");
  needs_.verdict.note((approve ? "approve " : "deny ") + approval.id.text() + " at " + server->name() + " as " +
                      deciding->by);
  engine::Decision decision{.tenant = approval.tenant_id, .approval = approval.id, .approve = approve};
  decision.resolved_by = deciding->by;
  decision.audit_detail = "{}";
  server->engine().decide(std::move(decision), [this, deciding](const engine::DecideOutcome& outcome) {
    if (deciding->server->is_dead()) return;
    if (const auto* decided = std::get_if<model::Approval>(&outcome))
      deciding->told = decided->status;
    else
      deciding->refused = true;
    needs_.verdict.note(deciding->by + (deciding->told ? " has decided " : " was refused at ") +
                        deciding->approval.id.text());
  });
}

void Clients::cancel(const Servers& ready) {
  if (testimony_.known.empty()) return;
  auto at = ready;
  const auto cancelling = std::make_shared<Cancelling>();
  cancelling->server = chance_.pick(at);
  cancelling->run = chance_.one_in(2) ? testimony_.known.back() : chance_.pick(testimony_.known);
  testimony_.cancellings.push_back(cancelling);
  const auto id = cancelling->run.id;
  needs_.verdict.count("cancels");
  needs_.verdict.note("cancel " + id.text() + " at " + cancelling->server->name());
  cancelling->server->engine().cancel(
      cancelling->run.tenant_id, id, [this, cancelling, id](const std::variant<model::Run, model::Problem>& answer) {
        if (cancelling->server->is_dead()) return;
        const auto* problem = std::get_if<model::Problem>(&answer);
        needs_.verdict.note(id.text() + (problem == nullptr ? " is cancelled" : " is not cancelled"));
        if (problem != nullptr) {
          cancelling->told_finished = problem->slug == model::Slug::run_finished;
          return;
        }
        cancelling->told_cancelled = true;
        // A server that is cut off, or stands still, may have a box of it yet: see check_masters().
        if (needs_.fleet.working_on(id, cancelling->server->node()) > 0) {
          needs_.verdict.wrong("S-2", "a box of " + id.text() + " lives though it was told to be cancelled");
        }
      });
}

// ── as time passes ──────────────────────────────────────────────────────────────────────────────

void Clients::stir(const Servers& ready, bool impatient) {
  auto at = ready;
  for (const auto& sending : testimony_.sendings) {
    std::erase_if(sending->asked, [](const auto& server) { return server->is_dead(); });
    if (sending->is_done || !sending->asked.empty()) continue;
    if (sending->key.empty() || sending->tries >= tries_max)
      sending->is_done = true;
    else if (!at.empty() && (impatient || chance_.one_in(3)))
      ask(sending, chance_.pick(at));
  }
  const auto count = testimony_.readings.size();  // those who come back are added
  for (std::size_t i = 0; i < count; ++i) {
    const auto reading = testimony_.readings[i];
    if (reading->is_closed) continue;
    if (reading->place != nullptr && reading->is_full && (impatient || chance_.one_in(2))) {
      reading->is_full = false;
      if (impatient) reading->slow = false;
      reading->place->more();
    }
    const bool leaves = !reading->is_over() && !impatient && chance_.one_in(12);
    if (!reading->is_over() && !leaves) continue;
    if (at.empty()) continue;
    reading->place.reset();
    reading->is_closed = true;
    if (reading->ended) continue;
    auto view = reading->view;
    if (!wire::is_agui(view.format)) view.after = reading->last_seq();
    if (impatient || chance_.percent(80)) read_one(chance_.pick(at), reading->run, view);
  }
  for (const auto& awaiting : testimony_.awaitings) {
    if (awaiting->place != nullptr && (awaiting->ending || awaiting->failed)) awaiting->place.reset();
  }
}

void Clients::forget(const Server& server) {
  for (const auto& reading : testimony_.readings) {
    if (reading->server.get() != &server) continue;
    reading->place.reset();
    if (!reading->ended) reading->lost = true;
  }
  for (const auto& awaiting : testimony_.awaitings) {
    if (awaiting->server.get() == &server) awaiting->place.reset();
  }
}

std::vector<model::ConversationId> Clients::conversations() const {
  std::vector<model::ConversationId> ids;
  for (const auto& known : conversations_) ids.push_back(known.id);
  return ids;
}

bool Clients::is_archived(model::ConversationId conversation) const {
  return std::ranges::any_of(testimony_.archivings, [&](const auto& archiving) {
    return archiving->conversation == conversation && archiving->told;
  });
}

std::size_t Clients::unanswered() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(testimony_.sendings, [](const auto& sending) { return !sending->is_done; }));
}

}  // namespace sluice::sim
