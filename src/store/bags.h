// The files that people put into chats, and those that chats' runs handed back. Part of the store's door: the errors,
// the threads and the transactions are those of store/store.h. All writes are boundaries.
//
// A run's files come into the bag of its chat by create_files(); NewRun::attached joins files to a chat; archiving a
// chat deletes what is in its bag. What is deleted stays as a row, because messages name it, and is not found any more.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/callback.h"
#include "base/result.h"
#include "model/model.h"
#include "store/questions.h"

namespace sluice::store {

enum class BagOutcome : uint8_t {
  kept,
  chat_full,      // it would have more than limits::bag_files_max
  tenant_full,    // all of the tenant's files together would be too large
  chat_archived,  // nothing comes into a chat that was deleted
};

class Bags {
 public:
  template <typename T>
  using Answer = Callback<void(Result<T>)>;

  virtual ~Bags() = default;

  // All or none, of one tenant. `not_found` when a chat that they name is none of the tenant's.
  virtual void create(std::vector<model::BagFile> made, int64_t tenant_bytes_max, Answer<BagOutcome> done) = 0;
  virtual void file(model::TenantId tenant, model::FileId id, Answer<model::BagFile> done) = 0;
  // Oldest first: of one chat, or of the tenant.
  virtual void files(model::TenantId tenant, std::optional<model::ConversationId> chat, PageQuery<model::FileId> query,
                     Answer<Page<model::BagFile>> done) = 0;
  virtual void remove(model::TenantId tenant, model::FileId id, Timestamp at, Answer<Unit> done) = 0;
};

}  // namespace sluice::store
