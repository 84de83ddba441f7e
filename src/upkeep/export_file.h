// A store in one file: tables and their rows, compressed, with a digest at the end (docs/formats/export.md).
//
// The digest reveals a file that was cut off, altered or appended to, so a reader uses nothing of it before it has read
// the last record.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "base/running_digest.h"
#include "upkeep/catalogue.h"

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

namespace sluice::upkeep {

inline constexpr int64_t export_format = 1;  // changes with the set of tables or columns

class ExportWriter {
 public:
  // Writes to PATH.partial, which gets the name PATH when it is complete. `conflict` if PATH exists.
  static Result<std::unique_ptr<ExportWriter>> create(const std::string& path);
  ~ExportWriter();
  ExportWriter(const ExportWriter&) = delete;
  ExportWriter& operator=(const ExportWriter&) = delete;

  Result<Unit> begin_table(const TableShape& table);
  Result<Unit> add(const RawRow& row);
  // Returns when the file is on the disk.
  Result<Unit> finish();
  int64_t row_count() const { return row_count_; }

 private:
  ExportWriter(std::string path, OwnedFd fd);
  Result<Unit> end_table();
  Result<Unit> put(char tag, std::string_view payload);
  Result<Unit> compress(std::string_view bytes, bool is_last);
  Error failed() const;

  const std::string path_;
  OwnedFd fd_;
  ZSTD_CCtx_s* zstd_;
  RunningSha256 digest_;
  std::string pending_;  // not compressed yet
  std::string scratch_;
  bool in_table_ = false;
  bool named_ = false;
  int64_t table_row_count_ = 0;
  int64_t row_count_ = 0;
};

class ExportReader {
 public:
  static Result<std::unique_ptr<ExportReader>> open(const std::string& path);
  ~ExportReader();
  ExportReader(const ExportReader&) = delete;
  ExportReader& operator=(const ExportReader&) = delete;

  // The next table; empty after the last one, if the digest of the whole file is right.
  Result<std::optional<std::string>> next_table();
  // The next row of that table, valid until the next call; null at its end.
  Result<const RawRow*> next_row();
  int64_t row_count() const { return row_count_; }

 private:
  ExportReader(std::string path, OwnedFd fd);
  struct Record {
    char tag;
    std::string_view payload;
  };
  Result<Record> next_record();
  Result<Unit> read_header();
  Result<Unit> read_trailer(std::string_view payload, const std::string& digest);
  // Unpacks until at least `size` bytes were not taken yet, or the file ends.
  Result<Unit> fill(std::size_t size);
  Error damaged(std::string_view what) const;

  const std::string path_;
  OwnedFd fd_;
  ZSTD_DCtx_s* zstd_;
  RunningSha256 digest_;
  std::string packed_;
  std::size_t packed_at_ = 0;
  std::string plain_;
  std::size_t plain_at_ = 0;
  bool is_unpacked_ = false;   // to its last byte
  std::string digest_so_far_;  // of what comes before the last record
  RawRow row_;
  int64_t table_row_count_ = 0;
  int64_t row_count_ = 0;
};

}  // namespace sluice::upkeep
