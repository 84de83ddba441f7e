#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>
#include <mutex>
#include <utility>
#include <vector>

#include "world/loop_thread.h"
#include "world/timer_queue.h"
#include "world/world.h"

namespace sluice::world {
namespace {

int64_t clock_us(clockid_t clock) {
  timespec at{};
  clock_gettime(clock, &at);
  return int64_t{at.tv_sec} * 1'000'000 + at.tv_nsec / 1000;
}

uint32_t events_of(Watch::Interest interest) {
  return (interest.read ? uint32_t{EPOLLIN} : 0u) | (interest.write ? uint32_t{EPOLLOUT} : 0u);
}

class EpollReactor final : public Reactor {
 public:
  EpollReactor(int epoll_fd, int inbox_fd) : epoll_fd_(epoll_fd), inbox_fd_(inbox_fd) {}
  ~EpollReactor() override;

  // Looked up once a turn: fifty events of one burst need not ask fifty times.
  Timestamp now() const override {
    thread_.check();
    return turn_began_ ? *turn_began_ : clock_now();
  }
  int64_t monotonic_us() const override { return clock_us(CLOCK_MONOTONIC); }
  Timer after(Millis delay, Callback<void()> then) override;
  void defer(Callback<void()> then) override {
    thread_.check();
    deferred_.push_back(std::move(then));
  }
  void post(Callback<void()> then) override;
  std::unique_ptr<Watch> watch(int fd, Watch::Interest interest, Callback<void(Ready)> when) override;
  void run() override;
  void stop() override {
    thread_.check();
    stopping_ = true;
  }

  // Also says whether the kernel took it; for the inbox, before anything else runs.
  bool watch_inbox();

 private:
  class EpollWatch;
  static constexpr uint64_t inbox_ticket = UINT64_MAX;

  // An event of a batch may be for a watch that an earlier event of that batch dropped: a ticket
  // names a slot and its generation, so such an event finds nothing.
  struct Slot {
    EpollWatch* watch = nullptr;
    uint32_t generation = 0;
  };
  EpollWatch* find(uint64_t ticket) const;

  void handle(const epoll_event& event);
  void empty_inbox();
  void run_due_timers();
  void run_deferred();
  int wait_ms() const;

  static Timestamp clock_now() { return {clock_us(CLOCK_REALTIME) / 1000}; }

  const int epoll_fd_;
  const int inbox_fd_;
  bool stopping_ = false;
  std::optional<Timestamp> turn_began_;  // empty while the loop does not run
  std::vector<Slot> slots_;
  std::vector<uint32_t> free_slots_;
  LoopThread thread_;
  TimerQueue timers_{thread_};
  std::vector<Callback<void()>> deferred_;
  std::vector<Callback<void()>> running_;  // kept for its capacity

  std::mutex mutex_;
  std::vector<Callback<void()>> posted_;
};

class EpollReactor::EpollWatch final : public Watch {
 public:
  EpollWatch(EpollReactor& reactor, int fd, Interest interest, Callback<void(Ready)> when)
      : reactor_(reactor), fd_(fd), interest_(interest), when_(std::move(when)) {
    reactor_.thread_.check();
    if (reactor_.free_slots_.empty()) {
      reactor_.free_slots_.push_back(static_cast<uint32_t>(reactor_.slots_.size()));
      reactor_.slots_.emplace_back();
    }
    const uint32_t slot = reactor_.free_slots_.back();
    reactor_.free_slots_.pop_back();
    reactor_.slots_[slot].watch = this;
    ticket_ = uint64_t{reactor_.slots_[slot].generation} << 32 | slot;
    SLUICE_CHECK(control(EPOLL_CTL_ADD));
  }

  ~EpollWatch() override {
    reactor_.thread_.check();
    Slot& slot = reactor_.slots_[static_cast<uint32_t>(ticket_)];
    slot.watch = nullptr;
    ++slot.generation;
    reactor_.free_slots_.push_back(static_cast<uint32_t>(ticket_));
    control(EPOLL_CTL_DEL);  // fails if the descriptor is closed already, and then there is nothing to do
  }

  void want(Interest interest) override {
    reactor_.thread_.check();
    if (interest.read == interest_.read && interest.write == interest_.write) return;
    interest_ = interest;
    SLUICE_CHECK(control(EPOLL_CTL_MOD));
  }

  void call(Ready ready) {
    // The watch may be dropped by its own callback, which must then outlive it.
    EpollReactor& reactor = reactor_;
    const uint64_t ticket = ticket_;
    auto when = std::move(when_);
    when(ready);
    if (reactor.find(ticket) == this) when_ = std::move(when);
  }

 private:
  bool control(int operation) {
    epoll_event event{};
    event.events = events_of(interest_);
    event.data.u64 = ticket_;
    return epoll_ctl(reactor_.epoll_fd_, operation, fd_, &event) == 0;
  }

  EpollReactor& reactor_;
  const int fd_;
  Interest interest_;
  uint64_t ticket_ = 0;
  Callback<void(Ready)> when_;
};

EpollReactor::~EpollReactor() {
  // What is still waiting may own timers and watches; it goes while they can still be forgotten.
  timers_.clear();
  std::exchange(posted_, {}).clear();
  std::exchange(deferred_, {}).clear();
  close(inbox_fd_);
  close(epoll_fd_);
}

bool EpollReactor::watch_inbox() {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = inbox_ticket;
  return epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, inbox_fd_, &event) == 0;
}

Timer EpollReactor::after(Millis delay, Callback<void()> then) {
  return timers_.add(monotonic_us() + std::max<int64_t>(0, delay.value) * 1000, std::move(then));
}

void EpollReactor::post(Callback<void()> then) {
  bool was_empty = false;
  {
    const std::lock_guard lock(mutex_);
    was_empty = posted_.empty();
    posted_.push_back(std::move(then));
  }
  if (!was_empty) return;  // the loop has been woken and has not looked yet
  const uint64_t one = 1;
  SLUICE_CHECK(write(inbox_fd_, &one, sizeof one) == sizeof one);
}

std::unique_ptr<Watch> EpollReactor::watch(int fd, Watch::Interest interest, Callback<void(Ready)> when) {
  return std::make_unique<EpollWatch>(*this, fd, interest, std::move(when));
}

EpollReactor::EpollWatch* EpollReactor::find(uint64_t ticket) const {
  const Slot& slot = slots_[static_cast<uint32_t>(ticket)];
  return slot.generation == ticket >> 32 ? slot.watch : nullptr;
}

void EpollReactor::run() {
  thread_.check();
  thread_.begin();
  epoll_event events[256];
  while (!stopping_) {
    run_due_timers();
    run_deferred();
    if (stopping_) break;
    const int count = epoll_wait(epoll_fd_, events, std::size(events), wait_ms());
    SLUICE_CHECK(count >= 0 || errno == EINTR);
    turn_began_ = clock_now();
    for (int i = 0; i < count; ++i) handle(events[i]);
  }
  turn_began_.reset();
  thread_.end();
  stopping_ = false;  // here and not above: a stop asked for before run() must not be lost
}

void EpollReactor::handle(const epoll_event& event) {
  if (event.data.u64 == inbox_ticket) return empty_inbox();
  EpollWatch* const watch = find(event.data.u64);
  if (watch == nullptr) return;
  watch->call({.readable = (event.events & EPOLLIN) != 0,
               .writable = (event.events & EPOLLOUT) != 0,
               .hung_up = (event.events & (EPOLLHUP | EPOLLERR)) != 0});
}

void EpollReactor::empty_inbox() {
  // Read before looking: what is posted after the look wakes the loop again.
  uint64_t wakes = 0;
  [[maybe_unused]] const ssize_t got = read(inbox_fd_, &wakes, sizeof wakes);
  std::vector<Callback<void()>> letters;
  {
    const std::lock_guard lock(mutex_);
    letters.swap(posted_);
  }
  for (auto& letter : letters) letter();
}

void EpollReactor::run_due_timers() {
  if (timers_.size() == 0) return;
  const int64_t now_us = monotonic_us();  // one look: a timer that sets a timer cannot hold the loop
  while (auto then = timers_.take_due(now_us)) then();
}

void EpollReactor::run_deferred() {
  running_.swap(deferred_);  // what these defer waits for the next turn, or the sockets would starve
  for (auto& then : running_) then();
  running_.clear();
}

int EpollReactor::wait_ms() const {
  if (!deferred_.empty()) return 0;
  const auto due_us = timers_.next_due_us();
  if (!due_us) return -1;
  const int64_t ms = (*due_us - monotonic_us() + 999) / 1000;  // rounded up: never too soon
  return static_cast<int>(std::clamp<int64_t>(ms, 0, INT_MAX));
}

}  // namespace

Result<std::unique_ptr<Reactor>> make_reactor() {
  const int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
  if (epoll_fd < 0) return Error{ErrorKind::overloaded, "epoll: " + std::string(std::strerror(errno))};
  const int inbox_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (inbox_fd < 0) {
    const int reason = errno;
    close(epoll_fd);
    return Error{ErrorKind::overloaded, "eventfd: " + std::string(std::strerror(reason))};
  }
  auto reactor = std::make_unique<EpollReactor>(epoll_fd, inbox_fd);
  if (!reactor->watch_inbox()) return Error{ErrorKind::overloaded, "epoll: " + std::string(std::strerror(errno))};
  return std::unique_ptr<Reactor>(std::move(reactor));
}

}  // namespace sluice::world
