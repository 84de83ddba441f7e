// Bytes on their way to a socket: text that was made for this connection, and bodies that are shared
// with others and never copied. What is queued in one turn leaves in one system call.
#pragma once

#include <sys/uio.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace sluice::net {

class Outbox {
 public:
  void add_text(std::string_view text);
  void add_shared(SharedBytes bytes);
  // One chunk of a chunked body; `bytes` must not be empty, for that would be the end.
  void add_chunk(SharedBytes bytes);

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  // Of it, what would be freed with this queue: not what others hold, too, or did when it was added.
  std::size_t own_size() const { return own_size_; }

  // Points into the queue, from its front; returns how many of `vectors` were filled.
  std::size_t fill(std::span<iovec> vectors) const;
  // The first `count` bytes have been sent.
  void consume(std::size_t count);
  // The first `count` bytes go to the end of another.
  void move_front(std::size_t count, Outbox& to);

 private:
  // Either shared bytes, or, when there are none, the next `size` bytes of the text.
  struct Piece {
    SharedBytes shared;
    std::size_t size = 0;
    std::size_t skipped = 0;  // of the shared bytes, before these
    bool is_own = true;
  };

  std::vector<Piece> pieces_;
  std::string text_;
  std::size_t front_ = 0;       // the first piece not wholly sent
  std::size_t front_sent_ = 0;  // of that piece
  std::size_t text_sent_ = 0;
  std::size_t size_ = 0;
  std::size_t own_size_ = 0;
};

}  // namespace sluice::net
