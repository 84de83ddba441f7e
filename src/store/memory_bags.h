// The bags of a MemoryStore.
#pragma once

#include <optional>
#include <vector>

#include "store/memory_desk.h"

namespace sluice::store {

class MemoryBags final : public Bags {
 public:
  MemoryBags(MemoryDisk& disk, MemoryDesk& desk) : disk_(disk), desk_(desk) {}

  void create(std::vector<model::BagFile> made, int64_t tenant_bytes_max, Done<BagOutcome> done) override;
  void file(model::TenantId tenant, model::FileId id, Done<model::BagFile> done) override;
  void files(model::TenantId tenant, std::optional<model::ConversationId> chat, PageQuery<model::FileId> query,
             Done<Page<model::BagFile>> done) override;
  void remove(model::TenantId tenant, model::FileId id, Timestamp at, Done<Unit> done) override;

  // Parts of other writes.
  void keep(const model::RunFile& file);  // when it is of a chat's run
  void join(model::TenantId tenant, model::ConversationId chat, const std::vector<model::FileId>& ids);
  void drop(model::ConversationId chat, Timestamp at);

 private:
  model::BagFile* find(model::TenantId tenant, model::FileId id);
  std::vector<model::BagFile> rows(model::TenantId tenant, std::optional<model::ConversationId> chat);
  Result<BagOutcome> create(const std::vector<model::BagFile>& made, int64_t tenant_bytes_max);

  MemoryDisk& disk_;
  MemoryDesk& desk_;
};

}  // namespace sluice::store
