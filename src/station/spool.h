// The lines of one dispatch, numbered from 1, until their reader has acknowledged them. No I/O.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace sluice::station {

class Spool {
 public:
  // Whole lines, each with its newline. What comes back is kept here too, so that sending it copies nothing.
  SharedBytes add(std::string lines);

  // The lines after number `line`, in pieces to be sent one after the other. Empty when one of them was let go already,
  // or if `line` was never sent.
  std::optional<std::vector<SharedBytes>> after(int64_t line) const;

  // Drops the lines up to this number, which are safe elsewhere. False if that line was never sent.
  bool let_go(int64_t line);

  int64_t last_line() const { return last_line_; }  // 0: there is none
  int64_t gone() const { return gone_; }            // the last one that was let go
  std::size_t bytes() const { return bytes_; }      // of what is kept
  bool empty() const { return gone_ == last_line_; }

 private:
  // The lines of one turn of the loop.
  struct Piece {
    int64_t last;  // the number of its last line
    SharedBytes bytes;
  };

  std::deque<Piece> pieces_;
  int64_t last_line_ = 0;
  int64_t gone_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace sluice::station
