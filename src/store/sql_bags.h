// The bags of a SqlStore.
#pragma once

#include <optional>
#include <vector>

#include "store/sql_desk.h"

namespace sluice::store {

class SqlBags final : public Bags {
 public:
  explicit SqlBags(SqlDesk& desk) : desk_(desk) {}

  void create(std::vector<model::BagFile> made, int64_t tenant_bytes_max, Done<BagOutcome> done) override;
  void file(model::TenantId tenant, model::FileId id, Done<model::BagFile> done) override;
  void files(model::TenantId tenant, std::optional<model::ConversationId> chat, PageQuery<model::FileId> query,
             Done<Page<model::BagFile>> done) override;
  void remove(model::TenantId tenant, model::FileId id, Timestamp at, Done<Unit> done) override;

 private:
  SqlDesk& desk_;
};

// Parts of other transactions.
namespace sql {
void keep_in_bag(Connection& db, const model::RunFile& file);  // when it is of a chat's run
void join_bag(Connection& db, model::TenantId tenant, model::ConversationId chat,
              const std::vector<model::FileId>& ids);
void drop_bag(Connection& db, model::ConversationId chat, Timestamp at);
}  // namespace sql

}  // namespace sluice::store
