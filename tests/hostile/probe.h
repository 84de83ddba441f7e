// What the parts of the hostile program share: what they are told about the host, how they judge.
#pragma once

#include <cerrno>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace sluice::hostile {

enum class Outcome : int { resisted = 0, escaped = 1, broken = 2 };

struct Verdict {
  Outcome outcome = Outcome::resisted;
  std::string how;
};

// KEY=VALUE arguments: where the host keeps what is not to be reached, and what the sandbox's limits are.
class Facts {
 public:
  explicit Facts(std::span<char*> arguments);
  // Empty when it was not told.
  const std::string& operator[](std::string_view name) const;
  long number(std::string_view name) const;

 private:
  std::map<std::string, std::string, std::less<>> all_;
};

using Attack = Verdict (*)(const Facts&);

struct Probe {
  std::string_view name;
  Attack attack;
};

std::span<const Probe> file_probes();
std::span<const Probe> process_probes();
std::span<const Probe> proc_probes();
std::span<const Probe> mount_probes();
std::span<const Probe> privilege_probes();
std::span<const Probe> syscall_probes();
std::span<const Probe> network_probes();
std::span<const Probe> limit_probes();
std::span<const Probe> secret_probes();
std::span<const Probe> flood_probes();

Verdict resisted(std::string how);
Verdict escaped(std::string got);
Verdict broken(std::string why);

// Judges the answer of one system call: a success is an escape. A refusal must be one: another errno
// (EINVAL, EFAULT) would mean that only the arguments were wrong, so that the probe proves nothing.
Verdict judge(std::string_view call, long answer, std::initializer_list<int> also_refusals = {});

// The worst of several; says how each was answered.
Verdict worst(std::initializer_list<Verdict> all);
void add(Verdict& sum, Verdict one);

// In a process of its own: what kills it (a filter, a limit) does not kill the probe.
template <typename F>
Verdict apart(F attack);

Verdict opens(std::string_view path, int flags);                                 // judged like a call
std::string contents(const std::string& path, std::size_t bytes_max = 1 << 20);  // empty when it cannot be read

namespace detail {
Verdict run_apart(Verdict (*call)(void*), void* what);
}

template <typename F>
Verdict apart(F attack) {
  return detail::run_apart([](void* what) { return (*static_cast<F*>(what))(); }, &attack);
}

}  // namespace sluice::hostile
