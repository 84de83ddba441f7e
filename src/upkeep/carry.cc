// Copies of whole stores: to a file, from a file, from one database to another.
#include "store/on_disk.h"
#include "upkeep/export_file.h"
#include "upkeep/pg_raw.h"
#include "upkeep/sqlite_raw.h"
#include "upkeep/upkeep.h"

namespace sluice::upkeep {
namespace {

constexpr std::string_view sqlite_scheme = "sqlite:";
constexpr int64_t progress_every = 10'000;  // rows

bool is_sqlite(std::string_view place) {
  return place.starts_with(sqlite_scheme) && place.size() > sqlite_scheme.size();
}
bool is_postgres(std::string_view place) {
  return place.starts_with("postgresql://") || place.starts_with("postgres://");
}
std::string path_of(const std::string& place) { return place.substr(sqlite_scheme.size()); }

// The error quotes only the scheme, because the rest may contain a password.
Error unknown_place(const std::string& place) {
  return {ErrorKind::invalid,
          "\"" + place.substr(0, place.find(':')) + "…\" is no place of a store: sqlite:PATH and postgresql://… are"};
}

// Gives every row of `source` to the target's `begin` and `add`, in the order of the catalogue.
template <typename Begin, typename Add>
Result<int64_t> pour(RawSource& source, Begin begin, Add add, const Progress& progress) {
  int64_t row_count = 0;
  for (const auto& table : catalogue()) {
    if (auto begun = begin(table); !begun) return std::move(begun.error()).in(table.name);
    std::optional<Error> refused;
    auto read = source.read_table(table, [&](const RawRow& row) {
      if (auto fault = fault_in(table, row); !fault.empty()) {
        refused = Error{ErrorKind::corrupt, "row " + std::to_string(row[0].number) + ": " + fault};
      } else if (auto added = add(row); !added) {
        refused = std::move(added.error());
      }
      if (++row_count % progress_every == 0) progress(table.name, row_count);
      return !refused;
    });
    if (refused) return std::move(*refused).in("table " + table.name);
    if (!read) return std::move(read.error()).in("read table " + table.name);
  }
  return row_count;
}

// Between its construction and its end, the source reads the store as it was at one moment.
class Moment {
 public:
  explicit Moment(RawSource& source) : source_(source) {}
  ~Moment() { source_.end(); }
  Moment(const Moment&) = delete;
  Moment& operator=(const Moment&) = delete;

 private:
  RawSource& source_;
};

Error with_advice(Error error) {
  if (error.kind == ErrorKind::corrupt) error.what += " (sluice store verify names all that is damaged)";
  return error;
}

}  // namespace

Result<std::unique_ptr<RawSource>> open_source(const std::string& place) {
  if (is_postgres(place)) {
    auto opened = PgRawSource::open(place);
    if (!opened) return opened.error();
    return std::unique_ptr<RawSource>(std::move(opened).take());
  }
  if (!is_sqlite(place)) return unknown_place(place);
  auto source = SqliteRawSource::open(path_of(place));
  if (!source) return source.error();
  return std::unique_ptr<RawSource>(std::move(source).take());
}

Result<std::unique_ptr<RawTarget>> open_target(const std::string& place) {
  if (is_postgres(place)) {
    auto opened = PgRawTarget::open(place);
    if (!opened) return opened.error();
    return std::unique_ptr<RawTarget>(std::move(opened).take());
  }
  if (!is_sqlite(place)) return unknown_place(place);
  auto target = SqliteRawTarget::open(path_of(place));
  if (!target) return target.error();
  return std::unique_ptr<RawTarget>(std::move(target).take());
}

Result<int64_t> export_store(const std::string& place, const std::string& file, const Progress& progress) {
  auto source = open_source(place);
  if (!source) return source.error();
  auto writer = ExportWriter::create(file);
  if (!writer) return writer.error();
  auto& out = *writer.value();
  if (auto begun = source.value()->begin(); !begun) return begun.error();
  const Moment moment(*source.value());
  auto poured = pour(
      *source.value(), [&](const TableShape& table) { return out.begin_table(table); },
      [&](const RawRow& row) { return out.add(row); }, progress);
  if (!poured) return with_advice(std::move(poured.error()));
  if (auto finished = out.finish(); !finished) return finished.error();
  return poured;
}

Result<int64_t> import_store(const std::string& place, const std::string& file, const Progress& progress) {
  auto reader = ExportReader::open(file);
  if (!reader) return reader.error();
  auto target = open_target(place);
  if (!target) return target.error();
  for (const auto& table : catalogue()) {
    auto named = reader.value()->next_table();
    if (!named) return named.error();
    if (named.value() != table.name) return Error{ErrorKind::corrupt, file + " has no table " + table.name};
    if (auto begun = target.value()->begin_table(table); !begun) return begun.error();
    for (;;) {
      const auto row = reader.value()->next_row();
      if (!row) return row.error();
      if (row.value() == nullptr) break;
      if (auto fault = fault_in(table, *row.value()); !fault.empty()) {
        return Error{ErrorKind::corrupt, file + ": table " + table.name + ": " + fault};
      }
      if (auto added = target.value()->add(*row.value()); !added) return std::move(added.error()).in(table.name);
      if (reader.value()->row_count() % progress_every == 0) progress(table.name, reader.value()->row_count());
    }
  }
  auto beyond = reader.value()->next_table();
  if (!beyond) return beyond.error();
  if (beyond.value()) return Error{ErrorKind::corrupt, file + " has a table that is unknown here: " + *beyond.value()};
  if (auto finished = target.value()->finish(); !finished) return finished.error();
  return reader.value()->row_count();
}

Result<int64_t> carry_store(const std::string& from, const std::string& to, const Progress& progress) {
  auto source = open_source(from);
  if (!source) return source.error();
  OwnedFd lock;
  if (is_sqlite(from)) {
    auto locked = store::lock_database(path_of(from));
    if (!locked) return std::move(locked.error()).in("carry " + from + " elsewhere: stop the server first");
    lock = std::move(locked).take();
  } else {
    auto looking = PgRawSource::open(from);
    if (!looking) return looking.error();
    if (auto idle = looking.value()->check_idle(); !idle) return idle.error();
  }
  auto target = open_target(to);
  if (!target) return target.error();
  if (auto begun = source.value()->begin(); !begun) return begun.error();
  const Moment moment(*source.value());
  auto poured = pour(
      *source.value(), [&](const TableShape& table) { return target.value()->begin_table(table); },
      [&](const RawRow& row) { return target.value()->add(row); }, progress);
  if (!poured) return with_advice(std::move(poured.error()));
  if (auto finished = target.value()->finish(); !finished) return finished.error();
  return poured;
}

Result<Unit> copy_database(const std::string& path, const std::string& copy) {
  auto source = SqliteRawSource::open(path);
  if (!source) return source.error();
  return source.value()->copy_to(copy);
}

}  // namespace sluice::upkeep
