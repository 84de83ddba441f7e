// The store's second door, for work on all of it: copy it, carry it elsewhere, look through it for damage.
//
// Everything here blocks and is for programs of their own (sluice backup, sluice store …), beside a server or without
// one. A place is sqlite:PATH or postgresql://….
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sluice::store {

// Told now and then: what is being done, and how many rows it has been.
using Progress = std::function<void(std::string_view doing, int64_t row_count)>;

// ── carrying ──
// One moment of the store, in one file (docs/formats/export.md); a server may be using it. Says how many rows.
Result<int64_t> export_store(const std::string& place, const std::string& file, const Progress& progress);
// Into a store that is empty and that no server uses (`conflict`). It is whole or still empty afterwards.
Result<int64_t> import_store(const std::string& place, const std::string& file, const Progress& progress);
// From a store that no server uses, into one that is empty too.
Result<int64_t> carry_store(const std::string& from, const std::string& to, const Progress& progress);
// One moment of a SQLite database as another database file; a server may be using it and need not wait.
Result<Unit> copy_database(const std::string& path, const std::string& copy);

// ── looking for damage ──
struct Damage {
  std::string table;
  std::string id;  // of the row, as people know it; empty: of the table itself
  std::string what;
  std::string remedy;
};

// A content that a row names: where it is, is not the store's business.
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
  int64_t row_count = 0;  // but for those of journals, which are counted by their events
  int64_t run_count = 0;
  int64_t event_count = 0;
  int64_t damage_count = 0;
};

// Looks at everything and changes nothing; a server may be using it. Each row by itself, each journal against the
// grammar of journals, each message against its journal, the audit's chain, and who refers to whom. An error means that
// it could not look on; damage is none.
Result<Inspected> verify_store(const std::string& place, Inspector& inspector);

// The same for runs that are not over only: what a server takes up when it starts.
Result<Inspected> check_unfinished(const std::string& place, Inspector& inspector);

// Every content that any row names, and what may be a digest in places where contents are named in passing: what is
// not among these is nobody's.
Result<Unit> each_content(const std::string& place, const std::function<void(std::string_view sha256)>& take);

}  // namespace sluice::store
