#include "app/signals.h"

#include <pthread.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/check.h"

namespace sluice::app {
namespace {

sigset_t stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  return set;
}

}  // namespace

void take_signals_from_threads() {
  const sigset_t set = stop_signals();
  SLUICE_CHECK(pthread_sigmask(SIG_BLOCK, &set, nullptr) == 0);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
}

SignalWatch::SignalWatch(world::Reactor& reactor, Callback<void(int)> on_signal) : on_signal_(std::move(on_signal)) {
  const sigset_t set = stop_signals();
  fd_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  SLUICE_CHECK(fd_ >= 0);
  watch_ = reactor.watch(fd_, {.read = true}, [this](world::Ready) {
    signalfd_siginfo info{};
    while (read(fd_, &info, sizeof info) == sizeof info) on_signal_(static_cast<int>(info.ssi_signo));
  });
}

SignalWatch::~SignalWatch() {
  watch_.reset();
  close(fd_);
}

}  // namespace sluice::app
