#include "upkeep/catalogue.h"

#include <algorithm>
#include <array>

#include "base/bytes.h"
#include "base/check.h"
#include "base/json.h"

namespace sluice::upkeep {
namespace {

struct Line {
  std::string_view name;
  std::string_view key;
  // The name and type of each column: i number, t text, j JSON, b bytes, u id, l ids, h digest; ? means that it may be
  // NULL.
  std::string_view columns;
};

constexpr std::array lines = {
    Line{"tenants", "number",
         "number i, id u, name t, status t, filler_enabled i, metadata j, created_at i, updated_at i, weight i, "
         "max_running i, max_held i, max_concurrent_sticky i, max_sticky_ttl_seconds i, require_bound_decisions i, "
         "webhook_url t?, agui_unsigned_approvals i"},
    Line{"service_keys", "number",
         "number i, id u, tenant_id u, name t, secret_sha256 h, hint t, created_at i, revoked_at i?"},
    Line{"approver_keys", "number",
         "number i, id u, tenant_id u, name t, algorithm t, material b, created_at i, revoked_at i?"},
    Line{
        "agents", "number",
        "number i, id u, tenant_id u, name t, system_prompt t, model_provider t, model_name t, model_base_url t?, "
        "max_output_tokens i, max_runtime_seconds i, max_history_messages i, is_default i, created_at i, updated_at i, "
        "skill_ids l, environment_id u?, policy j, model_key_alias t?, kit j, model_endpoint u?"},
    Line{"conversations", "number",
         "number i, id u, tenant_id u, agent_id u, user_id t?, title t?, metadata j, filler_enabled i?, "
         "repository_id t?, status t, last_message_at i, created_at i, updated_at i, agent_type t, mode t, "
         "sticky_ttl_seconds i, kind t"},
    Line{"messages", "number", "number i, id u, conversation i, run i?, status t, json j"},
    Line{"runs", "number",
         "number i, id u, tenant_id u, conversation_id u, user_message_id u, message_id u, agent_id u, state t, "
         "epoch i, head i, created_at i, ended_at i?, conversation i, message i"},
    Line{"flights", "conversation", "conversation i, run i"},
    Line{"journal", "run last", "run i, last i, batch b"},
    Line{"sealed_journals", "run last", "run i, last i, batch_zstd b"},
    Line{"idempotency_keys", "principal operation key",
         "principal b, operation t, key t, request_sha256 h, run i?, response_body t?, created_at i"},
    Line{"repositories", "number",
         "number i, id u, tenant_id u, name t, url t, ref t, depth i, credential_alias t?, created_at i, updated_at i"},
    Line{"skills", "number",
         "number i, id u, tenant_id u, name t, description t, sha256 t, size_bytes i, file_count i, created_at i, "
         "updated_at i"},
    Line{"environments", "number",
         "number i, id u, tenant_id u, name t, variables j, script t, created_at i, updated_at i"},
    Line{"executions", "number",
         "number i, id u, tenant_id u, run_id u?, env_json j, config_json j, skill_ids l, created_at i, expires_at i, "
         "bearer_sha256 h"},
    Line{"one_time_tokens", "sha256", "sha256 h, execution i, purpose t, expires_at i, redeemed_at i?"},
    Line{"files", "number",
         "number i, id u, tenant_id u, run_id u?, execution_id u?, name t, size_bytes i, sha256 t, created_at i"},
    Line{"approvals", "number",
         "number i, id u, tenant_id u, conversation_id u, message_id u, run_id u, status t, reason t, "
         "requested_items j, note t?, resolved_by t?, resolved_at i?, expires_at i, created_at i, updated_at i"},
    Line{"secrets", "number",
         "number i, tenant_id u, scope t, owner u, alias t, hosts j, places i, sealed b, created_at i, updated_at i"},
    Line{"audit", "number",
         "number i, tenant_id u?, action t, subject t, actor t, detail t, at i, previous_sha256 b, sha256 h"},
    Line{"notices", "number", "number i, id u, tenant_id u, kind t, body t, created_at i, due_at i, attempts i"},
    Line{"threads", "number", "number i, tenant_id u, thread_id t, conversation_id u"},
    Line{"agui_runs", "number", "number i, tenant_id u, thread_id t, run_id t, conversation_id u, run u, segment i"},
    Line{"bag_files", "number",
         "number i, id u, tenant_id u, chat_id u?, run_id u?, name t, type t, size_bytes i, sha256 t, source t, "
         "created_at i, deleted_at i?"},
    Line{"model_endpoints", "number",
         "number i, id u, tenant_id u, name t, provider t, base_url t?, key_alias t?, models j, created_at i, "
         "updated_at i"},
    Line{"user_tables", "number",
         "number i, id u, tenant_id u, name t, columns j, row_count i, size_bytes i, created_at i, updated_at i"},
    Line{"user_rows", "number", "number i, id u, table_number i, cells j, created_at i, updated_at i"},
    Line{"workflows", "number",
         "number i, id u, tenant_id u, name t, description t, definition j, created_at i, updated_at i"},
    Line{"workflow_runs", "number",
         "number i, id u, tenant_id u, workflow_id u, definition j, inputs j, status t, outputs j, error t?, blocks j, "
         "head i, created_at i, ended_at i?"},
    Line{"workflow_events", "run position", "run i, position i, body j"},
};

std::vector<std::string_view> split(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const auto at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + separator.size());
  }
}

ColumnKind kind_of(char letter) {
  switch (letter) {
    case 'i': return ColumnKind::number;
    case 't': return ColumnKind::text;
    case 'j': return ColumnKind::json;
    case 'b': return ColumnKind::bytes;
    case 'u': return ColumnKind::id;
    case 'l': return ColumnKind::ids;
    case 'h': return ColumnKind::digest;
    default: SLUICE_CHECK(false); return ColumnKind::bytes;
  }
}

std::string fault_in(const ColumnShape& column, const Cell& cell) {
  if (cell.is_null()) return column.may_be_null ? "" : "is empty";
  if (cell.type != cell_type_of(column.kind)) return "is of another type";
  switch (column.kind) {
    case ColumnKind::text: return is_utf8(cell.bytes) ? "" : "is not UTF-8";
    case ColumnKind::json:
      if (cell.bytes == "{}" || cell.bytes == "[]" || cell.bytes.empty()) return "";
      return json::Document::parse(cell.bytes) ? "" : "is not JSON";
    case ColumnKind::id: return cell.bytes.size() == 16 ? "" : "is not an id of 16 bytes";
    case ColumnKind::ids: return cell.bytes.size() % 16 == 0 ? "" : "is not a list of ids of 16 bytes";
    case ColumnKind::digest: return cell.bytes.size() == 32 ? "" : "is not a digest of 32 bytes";
    case ColumnKind::number:
    case ColumnKind::bytes: return "";
  }
  return "";
}

}  // namespace

std::size_t TableShape::index_of(std::string_view column) const {
  const auto found = std::ranges::find(columns, column, &ColumnShape::name);
  SLUICE_CHECK(found != columns.end());
  return static_cast<std::size_t>(found - columns.begin());
}

std::vector<TableShape> catalogue() {
  std::vector<TableShape> tables;
  for (const auto& line : lines) {
    auto& table = tables.emplace_back();
    table.name = line.name;
    for (const auto key : split(line.key, " ")) table.key.emplace_back(key);
    for (const auto column : split(line.columns, ", ")) {
      const auto space = column.find(' ');
      table.columns.push_back(
          {std::string(column.substr(0, space)), kind_of(column[space + 1]), column.ends_with('?')});
    }
  }
  return tables;
}

const TableShape& table_named(const std::vector<TableShape>& tables, std::string_view name) {
  const auto found = std::ranges::find(tables, name, &TableShape::name);
  SLUICE_CHECK(found != tables.end());
  return *found;
}

std::string column_list(const TableShape& table) {
  std::string list;
  for (const auto& column : table.columns) list.append(list.empty() ? "" : ", ").append(column.name);
  return list;
}

CellType cell_type_of(ColumnKind kind) {
  switch (kind) {
    case ColumnKind::number: return CellType::integer;
    case ColumnKind::text:
    case ColumnKind::json: return CellType::text;
    case ColumnKind::bytes:
    case ColumnKind::id:
    case ColumnKind::ids:
    case ColumnKind::digest: return CellType::bytes;
  }
  return CellType::bytes;
}

std::string fault_in(const TableShape& table, const RawRow& row) {
  if (row.size() != table.columns.size()) return "has another number of columns";
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (auto fault = fault_in(table.columns[i], row[i]); !fault.empty()) return table.columns[i].name + " " + fault;
  }
  return "";
}

}  // namespace sluice::upkeep
