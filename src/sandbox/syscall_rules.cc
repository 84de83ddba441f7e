#include <cerrno>

#include "sandbox/plan.h"

// What the kernel need not do for a sandbox, and has done wrong for others before. Numbers are written
// out where headers of this machine may be older than its kernel.
namespace sluice::sandbox {
namespace {

constexpr uint64_t low_word = 0xffffffff;  // ints are 32 bits: the upper half is whatever was there

// CLONE_NEWTIME … CLONE_NEWNET: inside a user namespace of its own a process has every capability
// again, and with it the parts of the kernel where most holes were found.
constexpr ArgumentTest user_namespace[] = {{0, ArgumentIs::masked_equal, 0x10000000, 0x10000000}};
constexpr ArgumentTest mount_namespace[] = {{0, ArgumentIs::masked_equal, 0x00020000, 0x00020000}};
constexpr ArgumentTest cgroup_namespace[] = {{0, ArgumentIs::masked_equal, 0x02000000, 0x02000000}};
constexpr ArgumentTest uts_namespace[] = {{0, ArgumentIs::masked_equal, 0x04000000, 0x04000000}};
constexpr ArgumentTest ipc_namespace[] = {{0, ArgumentIs::masked_equal, 0x08000000, 0x08000000}};
constexpr ArgumentTest pid_namespace[] = {{0, ArgumentIs::masked_equal, 0x20000000, 0x20000000}};
constexpr ArgumentTest net_namespace[] = {{0, ArgumentIs::masked_equal, 0x40000000, 0x40000000}};
constexpr ArgumentTest time_namespace[] = {{0, ArgumentIs::masked_equal, 0x00000080, 0x00000080}};

// Of address families: unix (1), inet (2), inet6 (10) and netlink (16) with protocol ROUTE only.
// vsock (40) speaks to the hypervisor, packet (17) to the wire, alg (38) to the crypto drivers.
constexpr ArgumentTest family_0[] = {{0, ArgumentIs::masked_equal, 0, low_word}};
constexpr ArgumentTest family_3[] = {{0, ArgumentIs::masked_equal, 3, low_word}};
constexpr ArgumentTest family_4[] = {{0, ArgumentIs::masked_equal, 4, low_word}};
constexpr ArgumentTest family_5[] = {{0, ArgumentIs::masked_equal, 5, low_word}};
constexpr ArgumentTest family_6[] = {{0, ArgumentIs::masked_equal, 6, low_word}};
constexpr ArgumentTest family_7[] = {{0, ArgumentIs::masked_equal, 7, low_word}};
constexpr ArgumentTest family_8[] = {{0, ArgumentIs::masked_equal, 8, low_word}};
constexpr ArgumentTest family_9[] = {{0, ArgumentIs::masked_equal, 9, low_word}};
constexpr ArgumentTest family_11[] = {{0, ArgumentIs::masked_equal, 11, low_word}};
constexpr ArgumentTest family_12[] = {{0, ArgumentIs::masked_equal, 12, low_word}};
constexpr ArgumentTest family_13[] = {{0, ArgumentIs::masked_equal, 13, low_word}};
constexpr ArgumentTest family_14[] = {{0, ArgumentIs::masked_equal, 14, low_word}};
constexpr ArgumentTest family_15[] = {{0, ArgumentIs::masked_equal, 15, low_word}};
constexpr ArgumentTest family_beyond[] = {{0, ArgumentIs::greater, 16}};
constexpr ArgumentTest netlink_not_route[] = {{0, ArgumentIs::masked_equal, 16, low_word},
                                              {2, ArgumentIs::not_equal, 0}};
constexpr ArgumentTest inet_raw[] = {{0, ArgumentIs::masked_equal, 2, low_word}, {1, ArgumentIs::masked_equal, 3, 0xf}};
constexpr ArgumentTest inet6_raw[] = {{0, ArgumentIs::masked_equal, 10, low_word},
                                      {1, ArgumentIs::masked_equal, 3, 0xf}};
constexpr ArgumentTest inet_packet[] = {{0, ArgumentIs::masked_equal, 2, low_word},
                                        {1, ArgumentIs::masked_equal, 10, 0xf}};
// Of protocols only the family's own (0), TCP (6) and UDP (17): others are young (MPTCP), rarely used, or modules that
// the kernel loads when somebody asks (SCTP, DCCP, L2TP). 1 is ICMP, but of unix sockets their own.
constexpr ArgumentTest inet_icmp[] = {{0, ArgumentIs::masked_equal, 2, low_word},
                                      {2, ArgumentIs::masked_equal, 1, low_word}};
constexpr ArgumentTest inet6_icmp[] = {{0, ArgumentIs::masked_equal, 10, low_word},
                                       {2, ArgumentIs::masked_equal, 1, low_word}};
constexpr ArgumentTest protocol_2[] = {{2, ArgumentIs::masked_equal, 2, low_word}};
constexpr ArgumentTest protocol_3[] = {{2, ArgumentIs::masked_equal, 3, low_word}};
constexpr ArgumentTest protocol_4[] = {{2, ArgumentIs::masked_equal, 4, low_word}};
constexpr ArgumentTest protocol_5[] = {{2, ArgumentIs::masked_equal, 5, low_word}};
constexpr ArgumentTest protocol_7[] = {{2, ArgumentIs::masked_equal, 7, low_word}};
constexpr ArgumentTest protocol_8[] = {{2, ArgumentIs::masked_equal, 8, low_word}};
constexpr ArgumentTest protocol_9[] = {{2, ArgumentIs::masked_equal, 9, low_word}};
constexpr ArgumentTest protocol_10[] = {{2, ArgumentIs::masked_equal, 10, low_word}};
constexpr ArgumentTest protocol_11[] = {{2, ArgumentIs::masked_equal, 11, low_word}};
constexpr ArgumentTest protocol_12[] = {{2, ArgumentIs::masked_equal, 12, low_word}};
constexpr ArgumentTest protocol_13[] = {{2, ArgumentIs::masked_equal, 13, low_word}};
constexpr ArgumentTest protocol_14[] = {{2, ArgumentIs::masked_equal, 14, low_word}};
constexpr ArgumentTest protocol_15[] = {{2, ArgumentIs::masked_equal, 15, low_word}};
constexpr ArgumentTest protocol_16[] = {{2, ArgumentIs::masked_equal, 16, low_word}};
constexpr ArgumentTest protocol_beyond[] = {{2, ArgumentIs::greater, 17}};
// 1 is the one value at which the kernel starts no handler for a core dump,
// which would run outside, as root, on what a sandbox feeds it. A process that lowers it gets the answer that this was
// done.
constexpr ArgumentTest core_limit[] = {{0, ArgumentIs::masked_equal, 4, low_word}};
constexpr ArgumentTest core_limit_of_any[] = {{1, ArgumentIs::masked_equal, 4, low_word},
                                              {2, ArgumentIs::not_equal, 0}};
// Of another process, process 1 among them: without descriptors it could not go on.
constexpr ArgumentTest limits_of_others[] = {{0, ArgumentIs::not_equal, 0}, {2, ArgumentIs::not_equal, 0}};
constexpr ArgumentTest not_unix[] = {{0, ArgumentIs::not_equal, 1}};

// TIOCSTI types into the terminal that one is run from, TIOCLINUX pastes into it.
constexpr ArgumentTest tiocsti[] = {{1, ArgumentIs::masked_equal, 0x5412, low_word}};
constexpr ArgumentTest tioclinux[] = {{1, ArgumentIs::masked_equal, 0x541c, low_word}};

// Device nodes: even the harmless 0:0 is how an overlay says "deleted".
constexpr ArgumentTest node_char[] = {{1, ArgumentIs::masked_equal, 0020000, 0170000}};
constexpr ArgumentTest node_block[] = {{1, ArgumentIs::masked_equal, 0060000, 0170000}};
constexpr ArgumentTest nodeat_char[] = {{2, ArgumentIs::masked_equal, 0020000, 0170000}};
constexpr ArgumentTest nodeat_block[] = {{2, ArgumentIs::masked_equal, 0060000, 0170000}};

constexpr SyscallRule rules[] = {
    // Namespaces. clone3 keeps its flags in memory where no filter can look; libc falls back to clone.
    {"clone3", ENOSYS},
    {"clone", EPERM, user_namespace},
    {"clone", EPERM, mount_namespace},
    {"clone", EPERM, cgroup_namespace},
    {"clone", EPERM, uts_namespace},
    {"clone", EPERM, ipc_namespace},
    {"clone", EPERM, pid_namespace},
    {"clone", EPERM, net_namespace},
    {"unshare", EPERM, user_namespace},
    {"unshare", EPERM, mount_namespace},
    {"unshare", EPERM, cgroup_namespace},
    {"unshare", EPERM, uts_namespace},
    {"unshare", EPERM, ipc_namespace},
    {"unshare", EPERM, pid_namespace},
    {"unshare", EPERM, net_namespace},
    {"unshare", EPERM, time_namespace},
    {"setns", EPERM},
    // The tree.
    {"mount", EPERM},
    {"umount2", EPERM},
    {"pivot_root", EPERM},
    {"chroot", EPERM},
    {"fsopen", EPERM},
    {"fsconfig", EPERM},
    {"fsmount", EPERM},
    {"fspick", EPERM},
    {"move_mount", EPERM},
    {"open_tree", EPERM},
    {"mount_setattr", EPERM},
    {"open_by_handle_at", EPERM},
    {"name_to_handle_at", EPERM},
    {"fanotify_init", EPERM},
    {"quotactl", EPERM},
    {"quotactl_fd", EPERM},
    {"swapon", EPERM},
    {"swapoff", EPERM},
    {"mknod", EPERM, node_char},
    {"mknod", EPERM, node_block},
    {"mknodat", EPERM, nodeat_char},
    {"mknodat", EPERM, nodeat_block},
    // Sockets.
    {"socket", EAFNOSUPPORT, family_0},
    {"socket", EAFNOSUPPORT, family_3},
    {"socket", EAFNOSUPPORT, family_4},
    {"socket", EAFNOSUPPORT, family_5},
    {"socket", EAFNOSUPPORT, family_6},
    {"socket", EAFNOSUPPORT, family_7},
    {"socket", EAFNOSUPPORT, family_8},
    {"socket", EAFNOSUPPORT, family_9},
    {"socket", EAFNOSUPPORT, family_11},
    {"socket", EAFNOSUPPORT, family_12},
    {"socket", EAFNOSUPPORT, family_13},
    {"socket", EAFNOSUPPORT, family_14},
    {"socket", EAFNOSUPPORT, family_15},
    {"socket", EAFNOSUPPORT, family_beyond},
    {"socket", EAFNOSUPPORT, netlink_not_route},
    {"socket", EAFNOSUPPORT, inet_raw},
    {"socket", EAFNOSUPPORT, inet6_raw},
    {"socket", EAFNOSUPPORT, inet_packet},
    {"socket", EPROTONOSUPPORT, inet_icmp},
    {"socket", EPROTONOSUPPORT, inet6_icmp},
    {"socket", EPROTONOSUPPORT, protocol_2},
    {"socket", EPROTONOSUPPORT, protocol_3},
    {"socket", EPROTONOSUPPORT, protocol_4},
    {"socket", EPROTONOSUPPORT, protocol_5},
    {"socket", EPROTONOSUPPORT, protocol_7},
    {"socket", EPROTONOSUPPORT, protocol_8},
    {"socket", EPROTONOSUPPORT, protocol_9},
    {"socket", EPROTONOSUPPORT, protocol_10},
    {"socket", EPROTONOSUPPORT, protocol_11},
    {"socket", EPROTONOSUPPORT, protocol_12},
    {"socket", EPROTONOSUPPORT, protocol_13},
    {"socket", EPROTONOSUPPORT, protocol_14},
    {"socket", EPROTONOSUPPORT, protocol_15},
    {"socket", EPROTONOSUPPORT, protocol_16},
    {"socket", EPROTONOSUPPORT, protocol_beyond},
    {"socketpair", EAFNOSUPPORT, not_unix},
    // Large, young or rarely used parts of the kernel.
    {"io_uring_setup", ENOSYS},
    {"io_uring_enter", ENOSYS},
    {"io_uring_register", ENOSYS},
    {"io_setup", ENOSYS},  // its contexts are counted for the whole machine (fs.aio-max-nr)
    {"bpf", EPERM},
    {"userfaultfd", ENOSYS},
    {"perf_event_open", EPERM},
    {"add_key", ENOSYS},
    {"request_key", ENOSYS},
    {"keyctl", ENOSYS},
    {"memfd_secret", ENOSYS},
    {"lookup_dcookie", EPERM},
    {"uselib", ENOSYS},
    {"ustat", ENOSYS},
    {"sysfs", ENOSYS},
    {"modify_ldt", EPERM},
    {"vm86", ENOSYS},
    {"move_pages", EPERM},
    {"migrate_pages", EPERM},
    // Other processes' insides. ptrace stays: debuggers and leak checkers need it, the shim cannot be traced.
    {"process_vm_readv", EPERM},
    {"process_vm_writev", EPERM},
    {"process_madvise", EPERM},
    {"pidfd_getfd", EPERM},
    {"kcmp", EPERM},
    {"prlimit64", EPERM, limits_of_others},
    {"prlimit64", 0, core_limit_of_any},
    {"setrlimit", 0, core_limit},
    // The machine.
    {"init_module", EPERM},
    {"finit_module", EPERM},
    {"delete_module", EPERM},
    {"kexec_load", EPERM},
    {"kexec_file_load", EPERM},
    {"reboot", EPERM},
    {"acct", EPERM},
    {"syslog", EPERM},
    {"iopl", EPERM},
    {"ioperm", EPERM},
    {"settimeofday", EPERM},
    {"clock_settime", EPERM},
    {"clock_adjtime", EPERM},
    {"adjtimex", EPERM},
    {"sethostname", EPERM},
    {"setdomainname", EPERM},
    {"vhangup", EPERM},
    {"ioctl", EPERM, tiocsti},
    {"ioctl", EPERM, tioclinux},
    // open_tree_attr, and whatever comes after what was known when this was written.
    {.error = ENOSYS, .first_number = 467, .last_number = 467},
    {.error = ENOSYS, .first_number = 470, .last_number = 511},
};

}  // namespace

std::span<const SyscallRule> syscall_rules() { return rules; }

}  // namespace sluice::sandbox
