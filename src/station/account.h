// The lines that one dispatch sends, and their reader: one at a time, and a later reader replaces the earlier one.
//
// A caller that asked for it may lose its connection and come back (Sluice-Reattach): lines are kept until they are
// acknowledged, and for so long after the reader left. For all others a reader that leaves ends the dispatch (S-10).
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/callback.h"
#include "net/net.h"
#include "world/world.h"

namespace sluice::station {

// The lines of one dispatch, numbered from 1, until their reader has acknowledged them. No I/O.
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

// How a dispatch ended, as figures and logs spell it: "result", "error", "caller left" …
using Outcome = std::string_view;

class AccountListener {
 public:
  virtual ~AccountListener() = default;
  // The reader is gone and no other one will come.
  virtual void on_unheard(Outcome why) = 0;
  // There is no room for more lines; then, there is again.
  virtual void on_room(bool has_room) = 0;
  // The account was closed, and its lines are delivered or no reader came for them. The last call.
  virtual void on_released() = 0;
};

class Account final : public std::enable_shared_from_this<Account> {
 public:
  struct Terms {
    Millis keep{0};             // after a reader left; 0: not at all
    std::size_t bytes_max = 0;  // kept at once; more is still taken, but on_room(false) was said
  };

  Account(world::Loop& loop, Terms terms, AccountListener& listener)
      : loop_(loop), terms_(terms), listener_(listener) {}

  // Whether this reader was there before and another came after it: it must not win its place back.
  bool was_replaced(std::string_view reader) const;
  // Whether the lines after this number can still be sent.
  bool has_after(int64_t line) const { return keeps() && !dropped_ && spool_.after(line).has_value(); }
  // Sends to this reader from now on, beginning after `line`. Requires has_after(line) and not was_replaced(reader).
  // The name may be empty: a reader without a name is always a new one.
  void attach(std::shared_ptr<net::Exchange> exchange, std::string reader, net::Headers headers, int64_t line);
  bool acknowledge(int64_t line);
  // `safe` when all lines so far are acknowledged; one at a time. Not from inside.
  void when_safe(Callback<void()> safe);

  void add(std::string lines);
  // The last line was added.
  void close();
  // Nothing of it is worth keeping.
  void drop();

  std::size_t bytes() const { return spool_.bytes(); }

 private:
  bool keeps() const { return terms_.keep.value > 0; }
  void lose_reader(Outcome why);
  void wait_for_reader();
  void note_safe();
  void watch_room();
  void release();

  world::Loop& loop_;
  const Terms terms_;
  AccountListener& listener_;
  Spool spool_;
  std::shared_ptr<net::Exchange> exchange_;  // null: no reader is connected
  std::string reader_;
  std::vector<std::string> replaced_;
  int64_t awaited_line_ = 0;
  Callback<void()> safe_;  // once that line is acknowledged
  bool has_room_ = true;
  bool closed_ = false;
  bool dropped_ = false;
  bool released_ = false;
  world::Timer patience_;
};

}  // namespace sluice::station
