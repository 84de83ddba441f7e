// A hostile program: `probe NAME KEY=VALUE…` makes one attack and ends with 0 when it was resisted,
// 1 when it got out, 2 when the probe itself is broken; it prints how. `probe --list` names them.
// Static and alone, because it is to run in any root.
#include "tests/hostile/probe.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/hostile/probes.h"

namespace sluice::hostile {
namespace {

constexpr std::array refusals = {EPERM,      EACCES,       ENOSYS,      EROFS,           ENOENT,         ESRCH,
                                 ENODEV,     ENXIO,        ENETUNREACH, ECONNREFUSED,    EAFNOSUPPORT,   ENOTDIR,
                                 EOPNOTSUPP, EHOSTUNREACH, ENETDOWN,    EPROTONOSUPPORT, ESOCKTNOSUPPORT};

Attack find(std::string_view name) {
  for (const std::span<const Probe> part :
       {file_probes(), process_probes(), proc_probes(), mount_probes(), privilege_probes(), syscall_probes(),
        network_probes(), limit_probes(), secret_probes(), flood_probes()}) {
    for (const Probe& probe : part) {
      if (probe.name == name) return probe.attack;
    }
  }
  return nullptr;
}

constexpr std::string_view word_of(Outcome outcome) {
  constexpr std::array words = {"resisted", "ESCAPED", "broken"};
  return words[static_cast<size_t>(outcome)];
}

}  // namespace

Facts::Facts(std::span<char*> arguments) {
  for (const std::string_view argument : arguments) {
    const auto equals = argument.find('=');
    if (equals == std::string_view::npos) continue;
    all_.emplace(argument.substr(0, equals), argument.substr(equals + 1));
  }
}

const std::string& Facts::operator[](std::string_view name) const {
  const auto found = all_.find(name);
  if (found == all_.end()) {
    std::printf("broken: nobody told %.*s=\n", static_cast<int>(name.size()), name.data());
    std::fflush(stdout);
    _exit(static_cast<int>(Outcome::broken));
  }
  return found->second;
}

long Facts::number(std::string_view name) const { return std::strtol((*this)[name].c_str(), nullptr, 10); }

Verdict resisted(std::string how) { return {Outcome::resisted, std::move(how)}; }
Verdict escaped(std::string got) { return {Outcome::escaped, std::move(got)}; }
Verdict broken(std::string why) { return {Outcome::broken, std::move(why)}; }

Verdict judge(std::string_view call, long answer, std::initializer_list<int> also_refusals) {
  const int error = errno;
  const std::string name(call);
  if (answer >= 0) return escaped(name + " worked");
  const std::string how = name + ": " + strerrorname_np(error);
  if (std::ranges::count(refusals, error) > 0 || std::ranges::count(also_refusals, error) > 0) return resisted(how);
  return broken(how + " is no refusal");
}

void add(Verdict& sum, Verdict one) {
  // An escape is the worst there is; what is broken hides one.
  const auto rank = [](Outcome o) { return o == Outcome::escaped ? 2 : o == Outcome::broken ? 1 : 0; };
  if (rank(one.outcome) > rank(sum.outcome)) {
    sum = std::move(one);
  } else if (one.outcome == sum.outcome) {
    sum.how += (sum.how.empty() ? "" : ", ") + one.how;
  }
}

Verdict worst(std::initializer_list<Verdict> all) {
  Verdict sum;
  for (const Verdict& one : all) add(sum, one);
  return sum;
}

Verdict opens(std::string_view path, int flags) {
  const int fd = open(std::string(path).c_str(), flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  const Verdict verdict = judge(path, fd);
  if (fd >= 0) close(fd);
  return verdict;
}

std::string contents(const std::string& path, std::size_t bytes_max) {
  std::string all;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return all;
  std::array<char, 16384> piece{};
  for (ssize_t n = 0; all.size() < bytes_max && (n = read(fd, piece.data(), piece.size())) > 0;) {
    all.append(piece.data(), static_cast<size_t>(n));
  }
  close(fd);
  return all;
}

Verdict detail::run_apart(Verdict (*call)(void*), void* what) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return broken("pipe2");
  std::fflush(stdout);
  const pid_t child = fork();
  if (child < 0) return broken("fork");
  if (child == 0) {
    const Verdict verdict = call(what);
    [[maybe_unused]] const ssize_t written =
        write(ends[1], verdict.how.data(), std::min<size_t>(verdict.how.size(), 4000));
    _exit(static_cast<int>(verdict.outcome));
  }
  close(ends[1]);
  std::string how;
  std::array<char, 4096> piece{};
  for (ssize_t n = 0; (n = read(ends[0], piece.data(), piece.size())) > 0;)
    how.append(piece.data(), static_cast<size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    const bool by_a_limit = signal == SIGSYS || signal == SIGKILL || signal == SIGXCPU || signal == SIGXFSZ;
    return {by_a_limit ? Outcome::resisted : Outcome::broken, std::string("killed by SIG") + sigabbrev_np(signal)};
  }
  return {static_cast<Outcome>(WEXITSTATUS(status)), how};
}

int run(std::span<char*> arguments) {
  if (arguments.size() < 2) return static_cast<int>(Outcome::broken);
  const std::string_view name = arguments[1];
  if (name == "--list") {
    for (const ProbeRow& row : probe_rows) {
      std::printf("%.*s%s\n", static_cast<int>(row.name.size()), row.name.data(), find(row.name) ? "" : " (missing)");
    }
    return 0;
  }
  const Attack attack = find(name);
  const Facts facts(arguments.subspan(2));
  const Verdict verdict = attack == nullptr ? broken("no such probe") : apart([&] { return attack(facts); });
  std::printf("%s: %s\n", word_of(verdict.outcome).data(), verdict.how.c_str());
  return static_cast<int>(verdict.outcome);
}

}  // namespace sluice::hostile

int main(int argc, char** argv) { return sluice::hostile::run({argv, static_cast<size_t>(argc)}); }
