#include "station/account.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/check.h"

namespace sluice::station {
namespace {

// `bytes` without its first `count` lines.
std::string without_lines(const std::string& bytes, int64_t count) {
  std::size_t at = 0;
  while (count-- > 0) at = bytes.find('\n', at) + 1;
  return bytes.substr(at);
}

}  // namespace

SharedBytes Spool::add(std::string lines) {
  SLUICE_CHECK(lines.ends_with('\n'));
  last_line_ += std::ranges::count(lines, '\n');
  bytes_ += lines.size();
  return pieces_.emplace_back(last_line_, std::make_shared<const std::string>(std::move(lines))).bytes;
}

std::optional<std::vector<SharedBytes>> Spool::after(int64_t line) const {
  if (line < gone_ || line > last_line_) return std::nullopt;
  std::vector<SharedBytes> out;
  for (const auto& piece : pieces_) {
    if (piece.last <= line) continue;
    const auto before_it = piece.last - std::ranges::count(*piece.bytes, '\n');
    out.push_back(line <= before_it
                      ? piece.bytes
                      : std::make_shared<const std::string>(without_lines(*piece.bytes, line - before_it)));
  }
  return out;
}

bool Spool::let_go(int64_t line) {
  if (line > last_line_) return false;
  gone_ = std::max(gone_, line);
  while (!pieces_.empty() && pieces_.front().last <= gone_) {
    bytes_ -= pieces_.front().bytes->size();
    pieces_.pop_front();
  }
  return true;
}

namespace {

constexpr std::size_t unsent_bytes_max = 64 * 1024 * 1024;  // a caller that asks and does not read

}  // namespace

bool Account::was_replaced(std::string_view reader) const {
  return std::ranges::find(replaced_, reader) != replaced_.end();
}

void Account::attach(std::shared_ptr<net::Exchange> exchange, std::string reader, net::Headers headers, int64_t line) {
  const auto lines = spool_.after(line);
  SLUICE_CHECK(lines && !was_replaced(reader));
  if (!reader_.empty() && reader_ != reader) replaced_.push_back(reader_);
  reader_ = std::move(reader);
  // The earlier reader sees a stream that breaks off, and learns the reason when it reconnects.
  if (const auto earlier = std::exchange(exchange_, std::move(exchange))) earlier->abort();
  patience_.cancel();
  exchange_->on_gone([weak = weak_from_this(), its = exchange_.get()] {
    const auto self = weak.lock();
    if (self && self->exchange_.get() == its) self->lose_reader("caller left");
  });
  if (exchange_->gone()) return lose_reader("caller left");
  exchange_->leave_at_half_close();
  exchange_->start(200, std::move(headers));
  for (const auto& piece : *lines) exchange_->write(piece);
  if (closed_) close();
}

void Account::when_safe(Callback<void()> safe) {
  awaited_line_ = spool_.last_line();
  safe_ = std::move(safe);
  note_safe();
}

void Account::note_safe() {
  if (!safe_ || spool_.gone() < awaited_line_) return;
  loop_.defer([weak = weak_from_this(), safe = std::exchange(safe_, nullptr)]() mutable {
    if (const auto self = weak.lock(); self && !self->dropped_) safe();
  });
}

bool Account::acknowledge(int64_t line) {
  if (!spool_.let_go(line)) return false;
  note_safe();
  watch_room();
  if (closed_ && spool_.empty()) release();
  return true;
}

void Account::add(std::string lines) {
  if (lines.empty() || dropped_) return;
  const auto piece = spool_.add(std::move(lines));
  if (!keeps()) spool_.let_go(spool_.last_line());
  watch_room();
  if (spool_.bytes() > terms_.bytes_max + unsent_bytes_max) return listener_.on_unheard("lines are not acknowledged");
  if (!exchange_) return;
  exchange_->write(piece);
  if (exchange_->unsent_bytes() <= unsent_bytes_max) return;
  exchange_->abort();
  lose_reader("caller does not read");
}

void Account::close() {
  closed_ = true;
  if (const auto exchange = std::exchange(exchange_, nullptr)) exchange->finish();
  if (spool_.empty()) return release();
  wait_for_reader();
}

void Account::drop() {
  dropped_ = true;
  if (const auto exchange = std::exchange(exchange_, nullptr)) exchange->abort();
  release();
}

void Account::lose_reader(Outcome why) {
  exchange_.reset();
  if (!keeps()) return listener_.on_unheard(why);
  wait_for_reader();
}

void Account::wait_for_reader() {
  patience_ = loop_.after(terms_.keep, [this] { closed_ ? release() : listener_.on_unheard("caller did not return"); });
}

void Account::watch_room() {
  const bool has_room = spool_.bytes() < terms_.bytes_max || !keeps();
  if (std::exchange(has_room_, has_room) != has_room) listener_.on_room(has_room);
}

void Account::release() {
  patience_.cancel();
  if (!std::exchange(released_, true)) listener_.on_released();
}

}  // namespace sluice::station
