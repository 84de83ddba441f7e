// Conversations and their messages. Part of the store's public header: errors, threads and transactions are those of
// journal/journal.h. Conversations are created by Journal::create_conversation() and Journal::accept().
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/model.h"
#include "store/questions.h"

namespace sluice::store {

// Archiving destroys the conversation's secrets and deletes what is in its bag.
void update_conversation(Database& database, model::TenantId tenant, model::ConversationId id, ConversationPatch patch,
                         Timestamp at, Done<model::Conversation> done);
void conversation(Database& database, model::TenantId tenant, model::ConversationId id, Done<model::Conversation> done);
// Of any tenant: for files that are kept under the conversation's id outside of the store.
void find_conversation(Database& database, model::ConversationId id, Done<model::Conversation> done);
// Latest message first. A conversation moves to the front with each message; with PageQuery::cursor_at, its
// last_message_at in the page before, the walk goes on from where that page ended.
void conversations(Database& database, model::TenantId tenant, ConversationFilter filter,
                   PageQuery<model::ConversationId> query, Done<Page<model::Conversation>> done);

void messages(Database& database, model::TenantId tenant, model::ConversationId conversation, Order order,
              PageQuery<model::MessageId> query, Done<Page<StoredMessage>> done);
void message(Database& database, model::TenantId tenant, model::MessageId id, Done<StoredMessage> done);

}  // namespace sluice::store
