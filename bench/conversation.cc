#include "bench/conversation.h"

#include <cmath>
#include <cstdio>

namespace sluice::bench {

void Lines::take(std::string_view piece, const std::function<void(std::string_view)>& on_line) {
  rest_ += piece;
  std::size_t from = 0;
  for (auto end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n', from)) {
    if (end > from) on_line(std::string_view(rest_).substr(from, end - from));  // nothing stands between SSE frames
    from = end + 1;
  }
  rest_.erase(0, from);
}

Conversation::Conversation(const Options& options, const Dialect& dialect, Figures& figures, int index, int epoll)
    : options_(options),
      dialect_(dialect),
      figures_(figures),
      index_(index),
      epoll_(epoll),
      link_(options.keys[static_cast<std::size_t>(index) % options.keys.size()], *this),
      feed_(options.keys[static_cast<std::size_t>(index) % options.keys.size()], ear_) {
  ++figures_.standing[static_cast<int>(phase_)];
}

void Conversation::open() { link_.open(epoll_, options_.port); }

void Conversation::enter(Phase phase) {
  --figures_.standing[static_cast<int>(phase_)];
  phase_ = phase;
  ++figures_.standing[static_cast<int>(phase_)];
}

void Conversation::create() {
  enter(Phase::creating);
  lines_.clear();
  link_.send(dialect_.creation(index_)[created_]);
}

void Conversation::send_message() {
  if (phase_ == Phase::failed) return;
  enter(Phase::streaming);
  lines_.clear();
  if (had_event_) --figures_.had_event;
  had_event_ = answered_ = ended_ = false;
  deltas_ = 0;
  sent_at_ = now_ms();
  ++turn_;
  if (!away_) return ask();
  away_ = false;
  link_.open(epoll_, options_.port);
}

void Conversation::ask() { link_.send(dialect_.message(index_, id_, turn_, options_.content)); }

// Servers may close what is idle; connecting again is then part of sending.
void Conversation::on_broken(const std::string& why) {
  if (phase_ != Phase::idle) return fail(why);
  link_.close();
  away_ = true;
}

void Conversation::on_body(int status, std::string_view piece) {
  if (phase_ == Phase::streaming && status == 200 && dialect_.feed() == Feed::answer) {
    lines_.take(piece, [this](std::string_view line) { take_line(line); });
  } else {
    lines_.take(piece, [](std::string_view) {});
  }
}

void Conversation::on_answered(int status) {
  if (status >= 300) return fail(std::to_string(status) + ": " + lines_.rest().substr(0, 200));
  if (phase_ != Phase::creating) {
    answered_ = true;
    if (!dialect_.tells_end()) ended_ = deltas_ > 0;
    if (dialect_.feed() == Feed::answer && !ended_) return fail("the answer stopped before its end");
    return end_if_over();
  }
  if (++created_ < dialect_.creation(index_).size()) return create();
  const auto mark = dialect_.id_mark();
  const auto at = lines_.rest().find(mark);
  if (at == std::string::npos) return fail("no conversation: " + lines_.rest().substr(0, 200));
  const auto from = at + mark.size();
  id_ = lines_.rest().substr(from, lines_.rest().find('"', from) - from);
  if (dialect_.feed() == Feed::own) return feed_.open(epoll_, options_.port);
  enter(Phase::idle);
}

void Conversation::take_line(std::string_view line) {
  if (phase_ != Phase::streaming) return;
  const Line kind = dialect_.read(line);
  if (kind == Line::other) return;
  ++figures_.events;
  const double at = now_ms();
  if (!had_event_) {
    had_event_ = true;
    ++figures_.had_event;
    figures_.first_event_ms.push_back(at - sent_at_);
  }
  if (kind == Line::delta) measure_delta(line, at);
  if (kind == Line::last) {
    ended_ = true;
    if (dialect_.feed() != Feed::answer) end_if_over();
  }
}

void Conversation::measure_delta(std::string_view line, double at) {
  ++figures_.deltas;
  if (deltas_++ == 0) {
    figures_.first_delta_ms.push_back(at - sent_at_);
  } else if (options_.rate > 0) {
    figures_.off_beat_ms.push_back(std::fabs(at - last_delta_at_ - 1e3 / options_.rate));
  }
  last_delta_at_ = at;
  if (options_.rate <= 0) return;
  if (const double since = since_created_ms(line); since >= 0) figures_.since_created_ms.push_back(since);
}

void Conversation::end_if_over() {
  if (!answered_ || !ended_ || phase_ != Phase::streaming) return;
  ++figures_.messages;
  figures_.total_ms.push_back(now_ms() - sent_at_);
  enter(Phase::idle);
  if (figures_.send_again) send_message();
}

void Conversation::fail(const std::string& why) {
  if (phase_ == Phase::failed) return;
  if (figures_.failures++ == 0) std::fprintf(stderr, "load: %s\n", why.c_str());
  enter(Phase::failed);
  link_.close();
  feed_.close();
}

void Conversation::Ear::on_connected() { owner_.feed_.send(owner_.dialect_.listening(owner_.index_)); }

// What was told before is told again to whoever listens for the first time; so the first word says that it listens.
void Conversation::Ear::on_body(int, std::string_view piece) {
  if (owner_.phase_ == Phase::creating) owner_.enter(Phase::idle);
  lines_.take(piece, [this](std::string_view line) { owner_.take_line(line); });
}

}  // namespace sluice::bench
