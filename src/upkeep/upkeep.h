// Work on a whole store: copy it, export it to a file, import it, carry it to another database, verify it.
//
// Everything here blocks, opens the database itself and is called by programs of their own (`sluice backup`,
// `sluice store …`), beside a running server or without one. A place is sqlite:PATH or postgresql://….
//
// Upkeep knows tables and rows, but not what a record means to a client. It goes through any table by the catalogue
// (upkeep/catalogue.h), so a new table needs a line there and nothing else. What it shares with the server's own
// reading and writing is in store/on_disk.h.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sluice::upkeep {

// Called now and then with what is being done and how many rows have been processed.
using Progress = std::function<void(std::string_view doing, int64_t row_count)>;

// ── copies ──
// Each returns how many rows there were.

// Writes the store as it is at one moment into one file (docs/formats/export.md). A server may use the store meanwhile.
Result<int64_t> export_store(const std::string& place, const std::string& file, const Progress& progress);
// Fills a store that is empty and that no server uses (`conflict`). Afterwards it has all rows or none.
Result<int64_t> import_store(const std::string& place, const std::string& file, const Progress& progress);
// Copies a store that no server uses into an empty one.
Result<int64_t> carry_store(const std::string& from, const std::string& to, const Progress& progress);
// Copies a SQLite database as it is at one moment into another database file. A server may use it and need not wait.
Result<Unit> copy_database(const std::string& path, const std::string& copy);

// ── damage ──

struct Damage {
  std::string table;
  std::string id;  // of the row, as people know it; empty: of the table itself
  std::string what;
  std::string remedy;
};

// A content that a row names. Contents are files outside of the store, so the inspector checks whether they exist.
struct ContentUse {
  std::string table;
  std::string id;
  std::string sha256;  // 64 hexadecimal digits
  int64_t size_bytes = 0;
};

class Inspector {
 public:
  virtual ~Inspector() = default;
  virtual void on_damage(const Damage& damage) = 0;
  virtual void on_content(const ContentUse& content) = 0;
  virtual void on_progress(std::string_view table, int64_t row_count) = 0;
};

struct Inspected {
  int64_t row_count = 0;  // without those of journals, which are counted by their events
  int64_t run_count = 0;
  int64_t event_count = 0;
  int64_t damage_count = 0;
};

// Reads everything and changes nothing; a server may use the store meanwhile. Checks each row, each journal against the
// grammar of journals, each message against its journal, the audit chain, and every reference between tables. An error
// means that reading could not continue. Damage is reported to the inspector and is no error.
Result<Inspected> verify_store(const std::string& place, Inspector& inspector);

// The same checks for the runs that are not over, which a server resumes when it starts.
Result<Inspected> check_unfinished(const std::string& place, Inspector& inspector);

// Calls `take` with every content that a row names, and with whatever looks like a digest in columns that may mention
// one. A content that is not among these belongs to no record and may be deleted.
Result<Unit> each_content(const std::string& place, const std::function<void(std::string_view sha256)>& take);

}  // namespace sluice::upkeep
