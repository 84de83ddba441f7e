#include "sandbox/box/zygote.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace sluice::sandbox::box {
namespace {

struct Yard {
  Zygote zygote;
  uint64_t next_seat = 1;
  struct Parked {
    uint64_t slot;
    int line;
  } parked[seats_max];
  int parked_count = 0;
  uint64_t* graves = nullptr;  // slots whose groups could not be removed yet
  std::size_t grave_count = 0;
  std::size_t grave_room = 0;
};

void park_seat(Yard& yard) {
  int lines[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, lines) != 0) return;
  const uint64_t slot = yard.next_seat++;
  const pid_t child = fork();
  if (child == 0) {
    close(lines[0]);
    for (int i = 0; i < yard.parked_count; ++i) close(yard.parked[i].line);
    Message none;
    be_seat(yard.zygote, slot, lines[1], none);
  }
  close(lines[1]);
  if (child < 0) {
    close(lines[0]);
    return;
  }
  yard.parked[yard.parked_count++] = {slot, lines[0]};
}

void fill_seats(Yard& yard) {
  if (yard.zygote.group_count == 0) return;
  while (static_cast<uint64_t>(yard.parked_count) < yard.zygote.seat_target && yard.parked_count < seats_max) {
    const int before = yard.parked_count;
    park_seat(yard);
    if (yard.parked_count == before) return;
  }
}

void build(Yard& yard, Message& order) {
  while (yard.parked_count > 0) {
    const Yard::Parked first = yard.parked[0];
    memmove(yard.parked, yard.parked + 1, sizeof(Yard::Parked) * static_cast<std::size_t>(--yard.parked_count));
    const bool sent = send(first.line, order.head, order.descriptors, order.descriptor_count, order.payload,
                           order.head.payload_bytes);
    close(first.line);
    if (sent) return;
  }
  const uint64_t slot = yard.next_seat++;
  const pid_t child = fork();
  if (child == 0) be_seat(yard.zygote, slot, -1, order);
  if (child < 0) {
    Trouble trouble;
    trouble.say("fork");
    Head head{.verb = Verb::build_failed, .number = order.head.number};
    send_failure(yard.zygote.line, head, trouble.what);
  }
}

// True when its groups are gone and the server has been informed. A group whose last process has just died can be busy
// for a moment.
bool remove_groups(const Yard& yard, uint64_t slot) {
  char name[32];
  name_slot(name, slot);
  bool gone = true;
  for (int i = 0; i < yard.zygote.group_count; ++i) {
    if (unlinkat(yard.zygote.groups[i], name, AT_REMOVEDIR) != 0 && errno != ENOENT) gone = false;
  }
  return gone && send(yard.zygote.line, Head{.verb = Verb::groups_removed, .a = static_cast<int64_t>(slot)});
}

void bury_or_remember(Yard& yard, uint64_t slot) {
  if (remove_groups(yard, slot)) return;
  if (yard.grave_count == yard.grave_room) {
    yard.grave_room = yard.grave_room * 2 + 16;
    yard.graves = static_cast<uint64_t*>(realloc(yard.graves, yard.grave_room * sizeof(uint64_t)));
    if (yard.graves == nullptr) abort();
  }
  yard.graves[yard.grave_count++] = slot;
}

void revisit_graves(Yard& yard) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < yard.grave_count; ++i) {
    if (!remove_groups(yard, yard.graves[i])) yard.graves[kept++] = yard.graves[i];
  }
  yard.grave_count = kept;
}

void reap(int signals) {
  signalfd_siginfo signal{};
  while (read(signals, &signal, sizeof signal) > 0) {
  }
  while (waitpid(-1, nullptr, WNOHANG) > 0) {
  }
}

// Seats that wait in their groups must leave before the groups can go.
void leave(Yard& yard) {
  for (int i = 0; i < yard.parked_count; ++i) close(yard.parked[i].line);
}

// Groups that are busy for longer than a moment may be so for hours.
int next_visit_ms(const Yard& yard, std::size_t graves_before, int last_ms) {
  constexpr int first_ms = 2;
  constexpr int ms_max = 256;
  if (yard.grave_count == 0) return -1;
  if (last_ms < 0 || yard.grave_count != graves_before) return first_ms;
  return last_ms * 2 < ms_max ? last_ms * 2 : ms_max;
}

int serve(Yard& yard, int signals) {
  pollfd waiting[2] = {{yard.zygote.line, POLLIN, 0}, {signals, POLLIN, 0}};
  int visit_ms = -1;
  std::size_t graves_before = 0;
  for (;;) {
    visit_ms = next_visit_ms(yard, std::exchange(graves_before, yard.grave_count), visit_ms);
    const int ready = poll(waiting, 2, visit_ms);
    if (ready < 0 && errno != EINTR) return 1;
    revisit_graves(yard);
    if (ready <= 0) continue;
    if (waiting[1].revents != 0) reap(signals);
    if (waiting[0].revents == 0) continue;
    Message message;
    if (receive(yard.zygote.line, message) == Received::end) {
      leave(yard);
      return 0;
    }
    if (message.head.verb == Verb::build) build(yard, message);
    if (message.head.verb == Verb::remove_groups) bury_or_remember(yard, static_cast<uint64_t>(message.head.a));
    release(message);
    fill_seats(yard);
  }
}

}  // namespace

void name_slot(char (&name)[32], uint64_t slot) {
  snprintf(name, sizeof name, "s%llu", static_cast<unsigned long long>(slot));
}

int run_zygote() {
  close_range(server_descriptor + 1, ~0u, 0);
  setsid();
  prctl(PR_SET_NAME, "sluice-zygote");
  Yard yard;
  Message first;
  if (receive(yard.zygote.line, first) == Received::end) return 1;
  Trouble trouble;
  Trouble shared;
  if (!prepare(yard.zygote, first, trouble, shared)) {
    send_failure(yard.zygote.line, {.verb = Verb::build_failed}, trouble.what);
    return 1;
  }
  yard.next_seat = yard.zygote.first_slot;
  sigset_t children;
  sigemptyset(&children);
  sigaddset(&children, SIGCHLD);
  sigprocmask(SIG_BLOCK, &children, nullptr);
  const int signals = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signals < 0) return 1;
  const Head prepared = {
      .verb = Verb::prepared, .a = yard.zygote.user_count > 0 ? 1 : 0, .b = static_cast<int64_t>(strlen(trouble.what))};
  char words[sizeof trouble.what + sizeof shared.what];
  const int bytes = snprintf(words, sizeof words, "%s%s", trouble.what, shared.what);
  if (!send(yard.zygote.line, prepared, nullptr, 0, words, static_cast<std::size_t>(bytes))) return 1;
  fill_seats(yard);
  return serve(yard, signals);
}

}  // namespace sluice::sandbox::box
