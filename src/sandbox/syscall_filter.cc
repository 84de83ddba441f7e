#include "sandbox/syscall_filter.h"

#include <seccomp.h>
#include <sys/mman.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>

namespace sluice::sandbox {
namespace {

using Filter = std::unique_ptr<void, decltype(&seccomp_release)>;

scmp_arg_cmp compared(const ArgumentTest& test) {
  switch (test.is) {
    case ArgumentIs::equal: return {test.index, SCMP_CMP_EQ, test.value, 0};
    case ArgumentIs::not_equal: return {test.index, SCMP_CMP_NE, test.value, 0};
    case ArgumentIs::greater: return {test.index, SCMP_CMP_GT, test.value, 0};
    case ArgumentIs::masked_equal: return {test.index, SCMP_CMP_MASKED_EQ, test.mask, test.value};
  }
  SLUICE_CHECK(false);
}

int add(const Filter& filter, const SyscallRule& rule, int number) {
  std::array<scmp_arg_cmp, 6> tests{};
  SLUICE_CHECK(rule.when.size() <= tests.size());
  unsigned count = 0;
  for (const auto& test : rule.when) tests[count++] = compared(test);
  return seccomp_rule_add_array(filter.get(), SCMP_ACT_ERRNO(static_cast<uint16_t>(rule.error)), number, count,
                                tests.data());
}

int add(const Filter& filter, const SyscallRule& rule) {
  if (!rule.name.empty()) {
    const int number = seccomp_syscall_resolve_name(std::string(rule.name).c_str());
    return number < 0 ? 0 : add(filter, rule, number);  // a call that this machine does not have
  }
  for (int number = rule.first_number; number <= rule.last_number; ++number) {
    if (const int outcome = add(filter, rule, number); outcome != 0) return outcome;
  }
  return 0;
}

}  // namespace

Result<OwnedFd> compile_filter(std::span<const SyscallRule> rules) {
  const auto failed = [](std::string_view doing, int error) {
    return Error{ErrorKind::unavailable, "seccomp: " + std::string(doing) + ": " + std::strerror(error)};
  };
  const Filter filter(seccomp_init(SCMP_ACT_ALLOW), &seccomp_release);
  if (filter == nullptr) return failed("begin", ENOMEM);
  seccomp_attr_set(filter.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
  seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2);  // a tree: the cost is of the logarithm of the rules
  for (const auto& rule : rules) {
    if (const int outcome = add(filter, rule); outcome != 0) return failed(rule.name, -outcome);
  }
  OwnedFd file(memfd_create("sluice-filter", MFD_CLOEXEC));
  if (!file) return failed("memfd_create", errno);
  if (const int outcome = seccomp_export_bpf(filter.get(), file.get()); outcome != 0) return failed("export", -outcome);
  return file;
}

}  // namespace sluice::sandbox
