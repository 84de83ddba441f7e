// Files that users upload to chats, and files that chats' runs return. Part of the store's public header: the errors,
// the threads and the transactions are those of journal/journal.h. All writes are boundaries.
//
// A run's files come into the bag of its chat by create_files(); NewRun::attached joins files to a chat; archiving a
// chat deletes what is in its bag. What is deleted stays as a row, because messages name it, and is not found any more.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/model.h"
#include "store/questions.h"

namespace sluice::store {

enum class BagOutcome : uint8_t {
  kept,
  chat_full,      // it would have more than limits::bag_files_max
  tenant_full,    // all of the tenant's files together would be too large
  chat_archived,  // nothing comes into a chat that was deleted
};

// All or none, of one tenant. `not_found` when a chat that they name is none of the tenant's.
void create_bag_files(Database& database, std::vector<model::BagFile> made, int64_t tenant_bytes_max,
                      Done<BagOutcome> done);
void bag_file(Database& database, model::TenantId tenant, model::FileId id, Done<model::BagFile> done);
// Oldest first: of one chat, or of the tenant.
void bag_files(Database& database, model::TenantId tenant, std::optional<model::ConversationId> chat,
               PageQuery<model::FileId> query, Done<Page<model::BagFile>> done);
void remove_bag_file(Database& database, model::TenantId tenant, model::FileId id, Timestamp at, Done<Unit> done);

}  // namespace sluice::store
