// The conversations, messages and runs of a MemoryStore.
#include "store/memory_answer.h"
#include "store/memory_store.h"
#include "store/patch.h"

namespace sluice::store {

MemoryDisk::ConversationRow* MemoryStore::conversation_of(model::TenantId tenant, model::ConversationId id) {
  auto* row = disk_.conversations_.find(id);
  return row != nullptr && row->conversation.tenant_id == tenant ? row : nullptr;
}

// ── idempotency ──

template <typename Outcome>
std::optional<Outcome> MemoryStore::replay(const std::optional<Idempotency>& idempotency, Timestamp now) {
  if (!idempotency) return std::nullopt;
  const auto found = disk_.kept_keys_.find({idempotency->principal, idempotency->operation, idempotency->key});
  if (found == disk_.kept_keys_.end() || found->second.at.ms <= now.ms - limits::idempotency_ms) return std::nullopt;
  const auto& kept = found->second;
  if (kept.request_sha256 != idempotency->request_sha256) return KeyConflict{};
  if (kept.run) return Replay{disk_.runs_.find(*kept.run)->run, std::nullopt};
  return Replay{std::nullopt, kept.response_body};
}

void MemoryStore::keep(const std::optional<Idempotency>& idempotency, MemoryDisk::KeptKey kept) {
  if (!idempotency) return;
  kept.request_sha256 = idempotency->request_sha256;
  disk_.kept_keys_[{idempotency->principal, idempotency->operation, idempotency->key}] = std::move(kept);
}

// ── conversations ──

void MemoryStore::create_conversation(NewConversation made, Done<ConversationOutcome> done) {
  write(std::move(done), [&] { return create(made); });
}

Result<ConversationOutcome> MemoryStore::create(const NewConversation& made) {
  auto conversation = made.conversation;
  if (auto replayed = replay<ConversationOutcome>(made.idempotency, conversation.created_at)) return *replayed;
  const auto agent = agent_for(conversation.tenant_id, conversation.agent_id);
  if (!agent) return agent.error();
  if (made.only_replay) return ConversationOutcome(NotCreated{});
  settle(*disk_.agents_.find(agent.value()), conversation);
  if (!disk_.conversations_.add(conversation.id, {conversation, std::nullopt, {}})) {
    return Error{ErrorKind::conflict, "there is such a conversation already"};
  }
  keep(made.idempotency, {{}, std::nullopt, made.response_body, conversation.created_at});
  return ConversationOutcome(Unit{});
}

void MemoryStore::update_conversation(model::TenantId tenant, model::ConversationId id, ConversationPatch patch,
                                      Timestamp at, Done<model::Conversation> done) {
  write(std::move(done), [&]() -> Result<model::Conversation> {
    auto* row = conversation_of(tenant, id);
    if (row == nullptr) return no_such("conversation");
    auto changed = row->conversation;
    apply(patch, at, changed);
    if (patch.agent_id || changed.status == model::ConversationStatus::active) {
      const auto agent = agent_for(tenant, changed.agent_id);
      if (!agent) return agent.error();
      changed.agent_id = agent.value();
    }
    row->conversation = changed;
    if (changed.status == model::ConversationStatus::archived) {
      drop_secrets(model::SecretScope::conversation, id.ulid);
      bags_.drop(id, at);
    }
    return changed;
  });
}

void MemoryStore::conversation(model::TenantId tenant, model::ConversationId id, Done<model::Conversation> done) {
  const auto* row = conversation_of(tenant, id);
  if (row == nullptr) return answer<model::Conversation>(no_such("conversation"), std::move(done));
  answer<model::Conversation>(row->conversation, std::move(done));
}

void MemoryStore::find_conversation(model::ConversationId id, Done<model::Conversation> done) {
  const auto* row = disk_.conversations_.find(id);
  if (row == nullptr) return answer<model::Conversation>(no_such("conversation"), std::move(done));
  answer<model::Conversation>(row->conversation, std::move(done));
}

namespace {

// Puts a row without an id where the cursor's row stood, and makes it the cursor. `rows` are the latest made first.
bool mark_place(std::vector<model::Conversation>& rows, PageQuery<model::ConversationId>& query) {
  auto& cursor = query.ending_before ? query.ending_before : query.starting_after;
  if (!cursor) return true;
  const auto found = std::ranges::find(rows, *cursor, &model::Conversation::id);
  if (found == rows.end()) return false;
  // Of two that have the same time, the row itself is on that side of the mark which is not asked for.
  rows.insert(query.ending_before ? found : found + 1, model::Conversation{.last_message_at = *query.cursor_at});
  cursor = model::ConversationId{};
  return true;
}

}  // namespace

void MemoryStore::conversations(model::TenantId tenant, ConversationFilter filter,
                                PageQuery<model::ConversationId> query, Done<Page<model::Conversation>> done) {
  std::vector<model::Conversation> rows;
  for (auto& [number, row] : disk_.conversations_) {
    if (row.conversation.tenant_id == tenant) rows.push_back(row.conversation);
  }
  std::reverse(rows.begin(), rows.end());
  if (query.cursor_at && !mark_place(rows, query)) {
    return answer<Page<model::Conversation>>(no_such("conversation to go on from"), std::move(done));
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.last_message_at > b.last_message_at; });
  const auto wanted = [&](const model::Conversation& row) {
    if (row.id == model::ConversationId{}) return false;
    if (filter.active_only && row.status == model::ConversationStatus::archived) return false;
    return row.kind == filter.kind && (!filter.user_id || row.user_id == filter.user_id);
  };
  answer(cut_page(rows, query, id_of, wanted), std::move(done));
}

// ── messages ──

void MemoryStore::messages(model::TenantId tenant, model::ConversationId conversation, Order order,
                           PageQuery<model::MessageId> query, Done<Page<StoredMessage>> done) {
  const auto* row = conversation_of(tenant, conversation);
  if (row == nullptr) return answer<Page<StoredMessage>>(no_such("conversation"), std::move(done));
  std::vector<StoredMessage> rows;
  for (const auto id : row->messages) rows.push_back({id, model::to_json(disk_.messages_.find(id)->message)});
  if (order == Order::descending) std::reverse(rows.begin(), rows.end());
  answer(cut_page(rows, query, id_of, all), std::move(done));
}

void MemoryStore::message(model::TenantId tenant, model::MessageId id, Done<StoredMessage> done) {
  const auto* row = disk_.messages_.find(id);
  if (row == nullptr || conversation_of(tenant, row->message.conversation_id) == nullptr) {
    return answer<StoredMessage>(no_such("message"), std::move(done));
  }
  answer<StoredMessage>(StoredMessage{id, model::to_json(row->message), row->is_replaced}, std::move(done));
}

void MemoryStore::history(model::ConversationId conversation, model::MessageId before, int count_max,
                          Done<std::vector<Turn>> done) {
  auto* row = disk_.conversations_.find(conversation);
  if (row == nullptr) return answer<std::vector<Turn>>(no_such("conversation"), std::move(done));
  const auto end = std::find(row->messages.begin(), row->messages.end(), before);
  if (end == row->messages.end()) return answer<std::vector<Turn>>(no_such("message"), std::move(done));
  std::vector<Turn> turns;
  Room room(count_max, limits::history_bytes_max);
  for (auto id = std::make_reverse_iterator(end); id != row->messages.rend(); ++id) {
    const auto& [message, run, is_replaced] = *disk_.messages_.find(*id);
    if (is_replaced || message.status != model::MessageStatus::completed) continue;
    if (!room.take(message.content.size())) break;
    turns.push_back({message.role, message.content, message.created_at});
  }
  std::reverse(turns.begin(), turns.end());
  answer<std::vector<Turn>>(std::move(turns), std::move(done));
}

// ── runs ──

void MemoryStore::accept(NewRun made, Done<AcceptOutcome> done) {
  write(std::move(done), [&] { return accept(made); });
}

Result<AcceptOutcome> MemoryStore::accept(const NewRun& made) {
  if (auto replayed = replay<AcceptOutcome>(made.idempotency, made.run.created_at)) return *replayed;
  if (!made.conversation && conversation_of(made.run.tenant_id, made.run.conversation_id) == nullptr) {
    return no_such("conversation");
  }
  if (disk_.runs_.find(made.run.id) != nullptr) return Error{ErrorKind::conflict, "there is such a run already"};
  const auto names = names_of(made);
  if (auto refused = refusal_of_names(names)) return *refused;
  if (auto refused = refusal_of_number(made.secrets)) return *refused;
  if (made.conversation) {
    const auto agent = agent_for(made.run.tenant_id, made.conversation->agent_id);
    if (!agent) return agent.error();
    if (made.only_replay) return AcceptOutcome(NotCreated{});
    auto conversation = *made.conversation;
    settle(*disk_.agents_.find(agent.value()), conversation);
    if (!disk_.conversations_.add(conversation.id, {conversation, std::nullopt, {}})) {
      return Error{ErrorKind::conflict, "there is such a conversation already"};
    }
  }
  auto* row = conversation_of(made.run.tenant_id, made.run.conversation_id);
  if (row->conversation.status == model::ConversationStatus::archived) return AcceptOutcome(Archived{});
  if (row->flight) return AcceptOutcome(Busy{disk_.runs_.find(*row->flight)->run});
  if (made.only_replay) return AcceptOutcome(NotCreated{});

  row->conversation.last_message_at = made.user_message.created_at;
  row->flight = made.run.id;
  if (made.replaces_from) {
    auto replaced = std::find(row->messages.begin(), row->messages.end(), *made.replaces_from);
    for (; replaced != row->messages.end(); ++replaced) {
      auto& message = *disk_.messages_.find(*replaced);
      message.is_replaced = message.message.status == model::MessageStatus::completed;
    }
  }
  row->messages.insert(row->messages.end(), {made.user_message.id, made.assistant_message.id});
  disk_.messages_.add(made.user_message.id, {made.user_message, std::nullopt, false});
  disk_.messages_.add(made.assistant_message.id, {made.assistant_message, made.run.id, false});
  auto run = made.run;
  run.agent_id = row->conversation.agent_id;
  run.epoch = {1};
  run.head = {made.events.size()};
  run.node = nodes_.self();
  disk_.runs_.add(run.id, {run, made.events});
  keep(made.idempotency, {{}, run.id, {}, run.created_at});
  keep_names(names);
  bags_.join(run.tenant_id, run.conversation_id, made.attached);
  keep_secrets(made.secrets);
  keep_audit(made.audit);
  nodes_.moved(run);

  Accepted accepted{row->conversation, *disk_.agents_.find(run.agent_id), run, {}};
  for (const auto& event : made.events) accepted.events.push_back(commit(event, {accepted.events.size() + 1}));
  return AcceptOutcome(std::move(accepted));
}

void MemoryStore::append(Append append, Done<CommittedBatch> done) {
  write(std::move(done), [&] { return this->append(append); });
}

Result<CommittedBatch> MemoryStore::append(Append& append) {
  auto* row = disk_.runs_.find(append.run);
  if (row == nullptr) return no_such("run");
  if (auto refused = refusal(append, row->run)) return *refused;
  if (auto refused = refusal_of_gate(append)) return *refused;
  if (auto refused = refusal_of_names(append.agui)) return *refused;
  CommittedBatch batch;
  for (const auto& event : append.events) batch.push_back(commit(event, {row->run.head.value + batch.size() + 1}));
  row->events.insert(row->events.end(), append.events.begin(), append.events.end());
  apply(append, row->run);
  if (append.assistant_message) disk_.messages_.find(row->run.message_id)->message = *append.assistant_message;
  if (model::is_over(row->run.state)) disk_.conversations_.find(row->run.conversation_id)->flight.reset();
  keep_gate(append);
  keep_names(append.agui);
  nodes_.moved(row->run);
  return batch;
}

void MemoryStore::take_over(model::RunId run, model::Epoch seen, Done<model::Run> done) {
  write(std::move(done), [&]() -> Result<model::Run> {
    auto* row = disk_.runs_.find(run);
    if (row == nullptr) return no_such("run");
    if (row->run.epoch != seen) return Error{ErrorKind::conflict, "somebody else has taken the run over"};
    if (model::is_over(row->run.state)) return Error{ErrorKind::conflict, "the run is over"};
    ++row->run.epoch.value;
    row->run.node = nodes_.self();
    nodes_.taken(row->run);
    return row->run;
  });
}

void MemoryStore::journal(model::RunId run, model::Position after, std::size_t bytes_max, Done<JournalPage> done) {
  auto* row = disk_.runs_.find(run);
  if (row == nullptr) return answer<JournalPage>(no_such("run"), std::move(done));
  JournalPage page{{}, row->run};
  std::size_t bytes = 0;
  for (auto at = after.value; at < row->events.size(); ++at) {
    if (!page.events.empty() && bytes >= bytes_max) break;
    bytes += row->events[at].body.size() + limits::journal_event_overhead_bytes;
    page.events.push_back(commit(row->events[at], {at + 1}));
  }
  answer<JournalPage>(std::move(page), std::move(done));
}

void MemoryStore::run(model::TenantId tenant, model::RunId id, Done<model::Run> done) {
  const auto* row = disk_.runs_.find(id);
  if (row == nullptr || row->run.tenant_id != tenant) return answer<model::Run>(no_such("run"), std::move(done));
  answer<model::Run>(row->run, std::move(done));
}

void MemoryStore::run_of_message(model::TenantId tenant, model::MessageId assistant_message, Done<model::Run> done) {
  const auto* message = disk_.messages_.find(assistant_message);
  if (message == nullptr || !message->run) return answer<model::Run>(no_such("run"), std::move(done));
  run(tenant, *message->run, std::move(done));
}

void MemoryStore::runs(model::TenantId tenant, RunFilter filter, PageQuery<model::RunId> query,
                       Done<Page<model::Run>> done) {
  if (filter.conversation && conversation_of(tenant, *filter.conversation) == nullptr) {
    return answer<Page<model::Run>>(no_such("conversation"), std::move(done));
  }
  std::vector<model::Run> rows;
  for (auto& [number, row] : disk_.runs_) {
    if (row.run.tenant_id == tenant) rows.push_back(row.run);
  }
  std::reverse(rows.begin(), rows.end());
  // Those of one conversation are in the order of its messages, whatever the clock did.
  if (!filter.conversation)
    std::ranges::stable_sort(rows, [](const auto& a, const auto& b) { return a.created_at > b.created_at; });
  answer(cut_page(rows, query, id_of, [&](const model::Run& row) { return fits(filter, row); }), std::move(done));
}

void MemoryStore::unfinished_runs(Done<UnfinishedRuns> done) {
  const bool is_ordered = disk_.refused_lists_ > 0 && disk_.refused_lists_-- > 0;
  if (is_ordered || (disk_.watch_ != nullptr && disk_.watch_->refuses_list(nodes_.self()))) {
    return answer<UnfinishedRuns>(Error{ErrorKind::overloaded, "the disk is busy"}, std::move(done));
  }
  UnfinishedRuns found{{}, desk_.loop().now()};
  for (auto& [number, row] : disk_.runs_) {
    if (!model::is_over(row.run.state)) found.runs.push_back(row.run);
  }
  answer<UnfinishedRuns>(std::move(found), std::move(done));
}

void MemoryStore::carried_runs(Done<std::vector<model::RunId>> done) {
  std::vector<model::RunId> ids;
  for (auto& [number, row] : disk_.runs_) {
    if (!model::is_over(row.run.state) && row.run.node == nodes_.self()) ids.push_back(row.run.id);
  }
  answer<std::vector<model::RunId>>(std::move(ids), std::move(done));
}

}  // namespace sluice::store
