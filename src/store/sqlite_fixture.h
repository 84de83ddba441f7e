// A database in a folder of its own, that can be opened anew, told things and damaged.
#pragma once

#include <sqlite3.h>

#include <fstream>

#include "store/contract_world.h"
#include "store/sqlite_store.h"

namespace sluice::store {

// What takes a database back to an earlier schema, one at a time.
inline constexpr const char* back_to_fourth =
    "DROP INDEX runs_latest; DROP INDEX runs_of_agent; DROP INDEX runs_ended; "
    "CREATE INDEX runs_of_tenant ON runs (tenant_id); DROP INDEX conversations_latest; "
    "ALTER TABLE conversations DROP COLUMN kind; "
    "CREATE INDEX conversations_latest ON conversations (tenant_id, last_message_at); "
    "DROP TABLE bag_files; ALTER TABLE agents DROP COLUMN model_endpoint; DROP TABLE model_endpoints; "
    "DROP TABLE user_tables; DROP TABLE user_rows; DROP TABLE workflows; DROP TABLE workflow_runs; "
    "DROP TABLE workflow_events; PRAGMA user_version = 4";
inline constexpr const char* back_to_third =
    "DROP TABLE threads; DROP TABLE agui_runs; ALTER TABLE tenants DROP COLUMN agui_unsigned_approvals; "
    "ALTER TABLE agents DROP COLUMN kit; PRAGMA user_version = 3";
inline constexpr const char* back_to_second =
    "DROP TABLE approvals; DROP TABLE secrets; DROP TABLE audit; DROP TABLE notices; "
    "ALTER TABLE tenants DROP COLUMN weight; ALTER TABLE tenants DROP COLUMN max_running; "
    "ALTER TABLE tenants DROP COLUMN max_held; ALTER TABLE tenants DROP COLUMN max_concurrent_sticky; "
    "ALTER TABLE tenants DROP COLUMN max_sticky_ttl_seconds; "
    "ALTER TABLE tenants DROP COLUMN require_bound_decisions; ALTER TABLE tenants DROP COLUMN webhook_url; "
    "ALTER TABLE agents DROP COLUMN policy; ALTER TABLE agents DROP COLUMN model_key_alias; "
    "ALTER TABLE conversations DROP COLUMN agent_type; ALTER TABLE conversations DROP COLUMN mode; "
    "ALTER TABLE conversations DROP COLUMN sticky_ttl_seconds; PRAGMA user_version = 2";

class SqliteFiles : public StoreTeller, public testing::Test {
 public:
  ~SqliteFiles() override { store_.reset(); }

  void open(int64_t page_count_max = 0, int reader_count = 1) {
    store_.reset();
    auto opened =
        SqliteStore::open({.path = path, .page_count_max_for_test = page_count_max}, reader_count, loop_, metrics);
    if (!opened) check_failed(opened.error().what.c_str(), __FILE__, __LINE__);
    store_ = std::move(opened).take();
  }
  void open(SqliteWriting options) {
    store_.reset();
    store_ = std::move(SqliteStore::open(std::move(options), 1, loop_, metrics)).take();
  }
  Result<std::unique_ptr<Store>> try_to_open(const std::string& file) {
    return open_sqlite({.path = file}, loop_, metrics);
  }
  // Says something to the database behind the store's back.
  static void tell(const std::string& file, const char* sql) {
    sqlite3* db = nullptr;
    SLUICE_CHECK(sqlite3_open(file.c_str(), &db) == SQLITE_OK);
    SLUICE_CHECK(sqlite3_exec(db, sql, nullptr, nullptr, nullptr) == SQLITE_OK);
    sqlite3_close(db);
  }

  // Overwrites the first page of the table.
  void damage_table(const std::string& name) const {
    sqlite3* db = nullptr;
    int64_t page = 0;
    SLUICE_CHECK(sqlite3_open(path.c_str(), &db) == SQLITE_OK);
    const auto take = [](void* to, int, char** columns, char**) {
      *static_cast<int64_t*>(to) = std::stoll(columns[0]);
      return 0;
    };
    const auto sql = "SELECT rootpage FROM sqlite_schema WHERE name = '" + name + "'";
    SLUICE_CHECK(sqlite3_exec(db, sql.c_str(), take, &page, nullptr) == SQLITE_OK && page > 1);
    sqlite3_close(db);
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp((page - 1) * 4096);
    file << std::string(4096, '\xA5');
  }

  ScratchFolder folder;
  world::Metrics metrics;
  const std::string path = folder.file("sluice.db");
};

}  // namespace sluice::store
