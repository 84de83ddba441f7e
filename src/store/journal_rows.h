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
  // A moment to go back to.
  struct Mark {
    std::size_t size;
    int64_t last_number;
    model::Position head;
  };

  // Numbers rise.
  void add(int64_t number, uint64_t event_count);
  model::Position head() const { return head_; }
  int64_t last_number() const { return last_number_; }
  std::vector<Row> rows_after(model::Position after) const;

  // On disk: for each row the varints of its number less that of the row before, and of its event count.
  const std::string& bytes() const { return bytes_; }
  static std::optional<JournalRows> from_bytes(std::string_view bytes);

  Mark mark() const { return {bytes_.size(), last_number_, head_}; }
  void go_back(const Mark& mark);

 private:
  std::string bytes_;
  int64_t last_number_ = 0;
  model::Position head_;
};

}  // namespace sluice::store
