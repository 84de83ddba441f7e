// Journals in SQL, wherever their rows are: a page of one read back, and the rows that one is sealed in.
#pragma once

#include <memory>

#include "store/on_disk.h"
#include "store/sql_query.h"
#include "store/store.h"
#include "store/unpacked_rows.h"

namespace sluice::store::sql {

// Drops some idempotency keys made until then; how many.
int drop_keys(Connection& db, Timestamp until, int limit);
// Up to where the journal of the run with this number is sealed.
model::Position sealed_upto(Connection& db, int64_t run);

struct JournalSlice {
  model::Run run;
  model::Position first;  // of the events
  std::vector<model::RunEvent> events;
  uint64_t walked = 0;  // events gone through to have them: the work of it
};

using JournalRow = std::shared_ptr<const UnpackedRow>;

// Walks a journal row by row.
class JournalReader {
 public:
  virtual ~JournalReader() = default;
  // Empty at the end.
  virtual Result<JournalRow> next() = 0;
};

// One that is sealed. A row at a time, because each is large.
class SealedJournalReader final : public JournalReader {
 public:
  SealedJournalReader(Connection& db, int64_t run, model::Position after) : db_(db), run_(run), last_(after) {}
  Result<JournalRow> next() override;
  // Of the rows that were read.
  model::Position last() const { return last_; }

 private:
  Connection& db_;
  int64_t run_;
  model::Position last_;
};

// One of a run that is over and not sealed, or not to its end: what is sealed comes first. `OpenAfter` is callable as
// std::unique_ptr<JournalReader>(model::Position) for the rest.
template <typename OpenAfter>
class HalfSealedReader final : public JournalReader {
 public:
  HalfSealedReader(Connection& db, int64_t run, model::Position after, OpenAfter open_after)
      : sealed_(db, run, after), open_after_(std::move(open_after)) {}

  Result<JournalRow> next() override {
    if (rest_ != nullptr) return rest_->next();
    auto row = sealed_.next();
    if (!row || row.value() != nullptr) return row;
    rest_ = open_after_(sealed_.last());
    return rest_->next();
  }

 private:
  SealedJournalReader sealed_;
  OpenAfter open_after_;
  std::unique_ptr<JournalReader> rest_;
};

Error corrupt_journal(const Error& error, model::RunId run);

// Fills a slice whose run and first position are known, with about `bytes_max` of events and at least one if there is
// one. `reader_after(position)` is asked for at most one reader.
template <typename ReaderAfter>
Result<JournalSlice> fill_page(JournalSlice slice, UnpackedRows& unpacked, std::size_t bytes_max,
                               ReaderAfter reader_after);

// A page that is being filled.
class PageFilling {
 public:
  PageFilling(JournalSlice& slice, std::size_t bytes_max);

  model::Position next() const { return {slice_.first.value + slice_.events.size()}; }
  // Has `row` from next() on; was there room for all of it?
  bool take(const UnpackedRow& row);
  // Takes from a row that was kept; is that all there is room for, or all there is?
  bool take_kept(UnpackedRows& unpacked);
  Result<Unit> take_all(JournalReader& reader, UnpackedRows& unpacked);

 private:
  JournalSlice& slice_;
  std::size_t bytes_max_;
  std::size_t bytes_ = 0;
};

template <typename ReaderAfter>
Result<JournalSlice> fill_page(JournalSlice slice, UnpackedRows& unpacked, std::size_t bytes_max,
                               ReaderAfter reader_after) {
  PageFilling page(slice, bytes_max);
  if (page.take_kept(unpacked)) return slice;
  const auto reader = reader_after(model::Position{page.next().value - 1});
  if (auto taken = page.take_all(*reader, unpacked); !taken) return corrupt_journal(taken.error(), slice.run.id);
  return slice;
}

struct SealedRow {
  model::Position last;
  std::string batch_zstd;
};

// A journal on its way into the rows that it is sealed in: few, and not so large that a page of a long one would have
// to unpack all of it.
class Sealing {
 public:
  // `packer` outlives it. The events up to `from` are sealed already.
  Sealing(Packer& packer, model::Position from) : packer_(packer), count_(from.value) {}
  // The rows in order. `corrupt` when one is damaged.
  Result<Unit> add(std::string_view batch, model::Position last);
  std::vector<SealedRow> rows() &&;
  // Of all events, as pages count.
  std::size_t page_bytes() const { return page_bytes_; }

 private:
  void close_row();

  Packer& packer_;
  std::vector<SealedRow> rows_;
  std::vector<model::RunEvent> events_;  // of the row that is being filled
  std::size_t page_bytes_ = 0;
  std::size_t row_page_bytes_ = 0;  // of the row that is being filled
  uint64_t count_;
};

}  // namespace sluice::store::sql
