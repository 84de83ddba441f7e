#include "net/outbox.h"

#include <algorithm>
#include <charconv>

#include "base/check.h"

namespace sluice::net {
namespace {

// What an empty queue may keep: a head's worth. A quiet stream is one of thousands.
constexpr std::size_t kept_text_bytes_max = 512;
constexpr std::size_t kept_pieces_max = 8;
// Up to here a copy is cheaper than a piece of its own.
constexpr std::size_t copied_piece_bytes_max = 1024;
// Sent pieces are dropped from the front when they are this many, and half of all.
constexpr std::size_t sent_pieces_max = 64;

}  // namespace

void Outbox::add_text(std::string_view text) {
  if (text.empty()) return;
  text_ += text;
  size_ += text.size();
  own_size_ += text.size();
  if (pieces_.size() > front_ && pieces_.back().shared == nullptr) {
    pieces_.back().size += text.size();
  } else {
    pieces_.push_back({nullptr, text.size(), 0});
  }
}

void Outbox::add_shared(SharedBytes bytes) {
  if (bytes->empty()) return;
  size_ += bytes->size();
  const std::size_t size = bytes->size();
  const bool is_own = bytes.use_count() == 1;
  if (is_own) own_size_ += size;
  pieces_.push_back({std::move(bytes), size, 0, is_own});
}

void Outbox::add_chunk(SharedBytes bytes) {
  char line[20];
  auto [end, error] = std::to_chars(line, line + sizeof line - 2, bytes->size(), 16);
  SLUICE_CHECK(error == std::errc{} && !bytes->empty());
  *end++ = '\r';
  *end++ = '\n';
  add_text({line, end});
  add_shared(std::move(bytes));
  add_text("\r\n");
}

std::size_t Outbox::fill(std::span<iovec> vectors) const {
  std::size_t text_at = text_sent_;
  std::size_t skip = front_sent_;
  std::size_t count = 0;
  for (std::size_t i = front_; i < pieces_.size() && count < vectors.size(); ++i) {
    const Piece& piece = pieces_[i];
    const std::size_t left = piece.size - skip;
    const char* data = piece.shared ? piece.shared->data() + piece.skipped + skip : text_.data() + text_at;
    if (!piece.shared) text_at += left;
    skip = 0;
    vectors[count++] = {const_cast<char*>(data), left};  // iovec serves readers and writers alike
  }
  return count;
}

void Outbox::move_front(std::size_t count, Outbox& to) {
  SLUICE_CHECK(count <= size_);
  std::size_t text_at = text_sent_;
  std::size_t skip = front_sent_;
  std::size_t left = count;
  for (std::size_t i = front_; left > 0; ++i) {
    const Piece& piece = pieces_[i];
    const std::size_t size = std::min(left, piece.size - skip);
    if (!piece.shared) {
      to.add_text({text_.data() + text_at, size});
      text_at += size;
    } else if (const std::size_t at = piece.skipped + skip; size <= copied_piece_bytes_max) {
      to.add_text({piece.shared->data() + at, size});
    } else {
      to.pieces_.push_back({piece.shared, size, at, piece.is_own});
      to.size_ += size;
      if (piece.is_own) to.own_size_ += size;
    }
    skip = 0;
    left -= size;
  }
  consume(count);
}

void Outbox::consume(std::size_t count) {
  SLUICE_CHECK(count <= size_);
  size_ -= count;
  while (count > 0) {
    Piece& piece = pieces_[front_];
    const std::size_t sent = std::min(count, piece.size - front_sent_);
    if (!piece.shared) text_sent_ += sent;
    front_sent_ += sent;
    if (piece.is_own) own_size_ -= sent;
    count -= sent;
    if (front_sent_ < piece.size) break;
    piece.shared.reset();
    front_sent_ = 0;
    ++front_;
  }
  if (size_ == 0) {
    pieces_.clear();
    text_.clear();
    front_ = text_sent_ = 0;
    if (text_.capacity() > kept_text_bytes_max) std::string().swap(text_);
    if (pieces_.capacity() > kept_pieces_max) std::vector<Piece>().swap(pieces_);
  } else if (front_ >= sent_pieces_max && front_ * 2 >= pieces_.size()) {
    pieces_.erase(pieces_.begin(), pieces_.begin() + static_cast<std::ptrdiff_t>(front_));
    text_.erase(0, text_sent_);
    front_ = text_sent_ = 0;
  }
}

}  // namespace sluice::net
