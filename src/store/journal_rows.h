// Where the rows of one journal are: their numbers, and how many events each holds.
//
// A row of the journal table is found by its number alone. An index by run would have each event of
// a quiet run dirty a page of its own, which is most of what writing it would cost; this list costs
// two bytes a row, and is written down with the run's own row whenever that is written anyway.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/model.h"

namespace sluice::store {

class JournalRows {
 public:
  struct Row {
    int64_t number;
    model::Position last;  // of its events
  };
  // The list up to a row: a moment to go back to, and a place to begin reading at.
  struct Mark {
    std::size_t size = 0;  // in bytes
    std::size_t row_count = 0;
    int64_t last_number = 0;
    model::Position head;
  };

  // Numbers rise.
  void add(int64_t number, uint64_t event_count);
  model::Position head() const { return end_.head; }
  int64_t last_number() const { return end_.last_number; }
  std::vector<Row> rows_after(model::Position after) const;
  // A list of the rows that hold something after a position: so many of them, if there are, and not many more. Its
  // first row counts all events up to its last. Takes no longer for a long list than for a short one.
  JournalRows part_after(model::Position after, std::size_t row_count) const;

  // On disk: for each row the varints of its number less that of the row before, and of its event count.
  const std::string& bytes() const { return bytes_; }
  static std::optional<JournalRows> from_bytes(std::string_view bytes);

  Mark mark() const { return end_; }
  void go_back(const Mark& mark);

 private:
  static constexpr std::size_t index_step = 256;
  // The last known place before all rows that hold something after a position.
  std::vector<Mark>::const_iterator index_after(model::Position after) const;

  std::string bytes_;
  Mark end_;
  std::vector<Mark> index_;  // after each index_step-th row
};

}  // namespace sluice::store
