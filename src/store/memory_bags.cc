#include "store/memory_bags.h"

#include <map>

#include "store/memory_answer.h"
#include "store/patch.h"

namespace sluice::store {

model::BagFile* MemoryBags::find(model::TenantId tenant, model::FileId id) {
  auto* row = disk_.bag_files_.find(id);
  return row != nullptr && row->tenant_id == tenant && !row->deleted_at ? row : nullptr;
}

std::vector<model::BagFile> MemoryBags::rows(model::TenantId tenant, std::optional<model::ConversationId> chat) {
  auto rows = rows_of<model::BagFile>(disk_.bag_files_, tenant);
  std::erase_if(rows, [&](const auto& row) { return row.deleted_at || (chat && row.chat_id != chat); });
  return rows;
}

void MemoryBags::create(std::vector<model::BagFile> made, int64_t tenant_bytes_max, Done<BagOutcome> done) {
  desk_.write(std::move(done), [&] { return create(made, tenant_bytes_max); });
}

Result<BagOutcome> MemoryBags::create(const std::vector<model::BagFile>& made, int64_t tenant_bytes_max) {
  if (made.empty()) return BagOutcome::kept;
  const auto tenant = made.front().tenant_id;
  if (disk_.tenants_.find(tenant) == nullptr) return no_such("tenant");
  int64_t bytes = 0;
  for (const auto& row : rows(tenant, std::nullopt)) bytes += row.size_bytes;
  std::map<model::ConversationId, std::size_t> counts;
  for (const auto& file : made) {
    if (disk_.bag_files_.find(file.id) != nullptr) return Error{ErrorKind::conflict, "there is such a file already"};
    bytes += file.size_bytes;
    if (!file.chat_id) continue;
    const auto* chat = disk_.conversations_.find(*file.chat_id);
    if (chat == nullptr || chat->conversation.tenant_id != tenant) return no_such("chat");
    if (chat->conversation.status == model::ConversationStatus::archived) return BagOutcome::chat_archived;
    ++counts[*file.chat_id];
  }
  for (const auto& [chat, count] : counts) {
    if (rows(tenant, chat).size() + count > limits::bag_files_max) return BagOutcome::chat_full;
  }
  if (bytes > tenant_bytes_max) return BagOutcome::tenant_full;
  for (const auto& file : made) disk_.bag_files_.add(file.id, file);
  return BagOutcome::kept;
}

void MemoryBags::file(model::TenantId tenant, model::FileId id, Done<model::BagFile> done) {
  const auto* row = find(tenant, id);
  desk_.answer(row == nullptr ? Result<model::BagFile>(no_such("file")) : *row, std::move(done));
}

void MemoryBags::files(model::TenantId tenant, std::optional<model::ConversationId> chat,
                       PageQuery<model::FileId> query, Done<Page<model::BagFile>> done) {
  if (disk_.tenants_.find(tenant) == nullptr) {
    return desk_.answer<Page<model::BagFile>>(no_such("tenant"), std::move(done));
  }
  desk_.answer(cut_page(rows(tenant, chat), query, id_of, all), std::move(done));
}

void MemoryBags::remove(model::TenantId tenant, model::FileId id, Timestamp at, Done<Unit> done) {
  desk_.write(std::move(done), [&]() -> Result<Unit> {
    auto* row = find(tenant, id);
    if (row == nullptr) return no_such("file");
    row->deleted_at = at;
    return Unit{};
  });
}

// ── parts of other writes ──

void MemoryBags::keep(const model::RunFile& file) {
  auto run_id = file.run_id;
  if (const auto* execution = file.execution_id ? disk_.executions_.find(*file.execution_id) : nullptr) {
    run_id = execution->run_id;
  }
  const auto* run = run_id ? disk_.runs_.find(*run_id) : nullptr;
  const auto* chat = run != nullptr ? disk_.conversations_.find(run->run.conversation_id) : nullptr;
  if (chat == nullptr || chat->conversation.kind != model::ConversationKind::chat) return;
  disk_.bag_files_.add(file.id, bag_file_of(file, run->run, chat->conversation));
}

void MemoryBags::join(model::TenantId tenant, model::ConversationId chat, const std::vector<model::FileId>& ids) {
  for (const auto id : ids) {
    if (auto* row = find(tenant, id); row != nullptr && !row->chat_id) row->chat_id = chat;
  }
}

void MemoryBags::drop(model::ConversationId chat, Timestamp at) {
  for (auto& [number, row] : disk_.bag_files_) {
    if (row.chat_id == chat && !row.deleted_at) row.deleted_at = at;
  }
}

}  // namespace sluice::store
