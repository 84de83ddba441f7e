// What a hostile program in a sandbox tries: one row an attack. The program (probe.cc) makes them, the
// test (hostile_test.cc) sends it into a sandbox of each driver, one test a row.
#pragma once

#include <array>
#include <string_view>

namespace sluice::hostile {

struct ProbeRow {
  std::string_view name;
  std::string_view attack;  // for people
};

inline constexpr std::array<ProbeRow, 105> probe_rows = {{
    // The host's files.
    {"host_file_by_path", "open a file of the host by its path"},
    {"host_file_by_proc_root", "open it through /proc/1/root and /proc/self/root"},
    {"host_file_by_dotdot", "climb out of the working directory with .."},
    {"host_password_hashes", "read /etc/shadow, /root and /home"},
    {"inherited_descriptors", "use a descriptor that somebody left open"},
    {"other_workspaces", "read another run's workspace"},
    {"data_directory", "read the server's data directory"},
    {"symlink_to_host", "follow a link of its own making to a file of the host"},
    {"hardlink_to_root", "link a file of the root into the workspace"},
    {"write_root", "write to /, /usr, /etc, /dev, /proc and what is bound in"},
    {"chmod_root", "change the mode of what it does not own"},
    {"overlay_xattrs", "forge overlayfs marks: opaque, redirect, whiteout"},
    {"file_capabilities", "give a file capabilities"},
    // Other processes.
    {"init_memory", "open /proc/1/mem and maps"},
    {"init_environ", "read /proc/1/environ"},
    {"init_program", "open /proc/1/exe, cwd and root"},
    {"init_descriptors", "list and reopen /proc/1/fd"},
    {"init_namespaces", "open /proc/1/ns/*"},
    {"init_ptrace", "ptrace process 1"},
    {"init_vm_readv", "read and write process 1's memory with process_vm_readv and writev"},
    {"init_pidfd_getfd", "take a descriptor of process 1 with pidfd_getfd"},
    {"init_kill", "kill and stop process 1"},
    {"init_every_signal", "send process 1 every signal there is"},
    {"init_limits", "lower process 1's resource limits with prlimit"},
    {"outside_pid", "signal a process outside: kill, tgkill, pidfd_open"},
    {"outside_processes", "see processes outside in /proc"},
    {"host_sysv_ipc", "see the host's System V shared memory"},
    // /proc and /sys.
    {"proc_sys_write", "write kernel settings: core_pattern, modprobe, hostname …"},
    {"sysrq_trigger", "open /proc/sysrq-trigger for writing"},
    {"proc_kcore", "read the kernel's memory: kcore, /dev/mem, /dev/port"},
    {"kernel_log", "read the kernel's log: kmsg, syslog(2)"},
    {"kernel_addresses", "read kernel addresses: kallsyms, modules, vmallocinfo"},
    {"proc_keys", "list keys in /proc/keys"},
    {"kernel_command_line", "read what the host's kernel was started with"},
    {"id_map_rewrite", "rewrite uid_map, gid_map, setgroups"},
    {"oom_score_lower", "escape the out-of-memory killer: oom_score_adj"},
    {"sysfs_write", "find anything writable in /sys"},
    {"cgroup_write", "write cgroup.procs, limits, release_agent"},
    // Mounts and namespaces.
    {"mount_tmpfs", "mount a tmpfs, a proc, a cgroup"},
    {"mount_bind", "bind / somewhere else"},
    {"mount_remount", "remount the root writable"},
    {"mount_umount", "unmount what covers something"},
    {"mount_fsopen", "mount with fsopen and fsmount"},
    {"mount_open_tree", "clone a mount tree, change a mount's attributes"},
    {"pivot_root", "pivot_root"},
    {"chroot", "chroot, and climb out"},
    {"unshare_user", "unshare a user namespace"},
    {"unshare_others", "unshare mount, pid, net, ipc, uts, cgroup and time namespaces"},
    {"clone_user", "clone into a user namespace"},
    {"clone3_user", "the same with clone3, whose flags a filter cannot read"},
    {"setns", "enter a namespace by its file or by a pidfd"},
    // Privileges.
    {"become_root", "setuid(0), setgid(0), setgroups"},
    {"setuid_program", "gain by a setuid program"},
    {"privileges_again", "turn no_new_privs or the filter off"},
    {"ambient_capabilities", "raise ambient capabilities"},
    {"capabilities", "hold or set any capability"},
    {"priority", "raise priority: nice, SCHED_FIFO, ioprio"},
    {"core_handler", "have the host's handler for core dumps started, as root"},
    {"limits_raise", "raise resource limits"},
    // System calls.
    {"keyrings", "add_key, request_key, keyctl"},
    {"bpf", "bpf"},
    {"perf_event_open", "perf_event_open"},
    {"userfaultfd", "userfaultfd"},
    {"io_uring", "io_uring_setup"},
    {"file_handles", "name_to_handle_at, open_by_handle_at"},
    {"kernel_replace", "kexec_load, kexec_file_load"},
    {"kernel_modules", "init_module, finit_module, delete_module"},
    {"reboot", "reboot"},
    {"clock", "clock_settime, settimeofday, adjtimex"},
    {"host_name", "sethostname, setdomainname"},
    {"accounting", "acct, quotactl, swapon, vhangup"},
    {"processor", "iopl, ioperm, modify_ldt"},
    {"fanotify", "fanotify_init"},
    {"terminal_input", "TIOCSTI, TIOCLINUX into a terminal"},
    {"compat_syscalls", "system calls by int 0x80"},
    {"x32_syscalls", "system calls of the x32 kind"},
    // Network.
    {"raw_sockets", "raw and packet sockets"},
    {"netlink_sockets", "netlink other than route: audit, netfilter …"},
    {"vsock", "AF_VSOCK, the way to a hypervisor"},
    {"odd_sockets", "AF_ALG and every other family but unix and inet"},
    {"odd_protocols", "MPTCP, UDPLITE, SCTP, DCCP and every other protocol but TCP and UDP"},
    {"host_loopback", "connect to a port of the host's loopback"},
    {"host_addresses", "connect to the host's own address and its gateway"},
    {"metadata_address", "connect to 169.254.169.254"},
    {"internet", "connect or send a datagram to a public address"},
    {"egress_listener", "find the listener of the way out among descriptors, or listen in its place"},
    {"network_interfaces", "find an interface that is not lo, or make one"},
    {"host_abstract_socket", "connect to an abstract unix socket of the host"},
    {"host_socket_by_path", "connect to unix sockets by path: the server's, docker, dbus"},
    // Devices.
    {"device_create", "mknod a disk or memory device"},
    {"device_nodes", "open any device but the harmless ones"},
    // Limits. Each must end at its limit, and the sandbox must answer afterwards.
    {"fork_bomb", "fork without end"},
    {"descriptor_exhaustion", "open files without end"},
    {"inotify_exhaustion", "take all inotify instances of the server's user"},
    {"terminal_exhaustion", "take all terminals of the machine"},
    {"aio_contexts", "take the machine's contexts for asynchronous I/O"},
    {"tmp_fill", "fill /tmp and /dev/shm, with bytes and with files"},
    {"big_file", "grow one file beyond the limit"},
    {"workspace_fill", "fill the workspace, with bytes and with files"},
    {"memory_bomb", "take memory without end"},
    {"memory_by_many", "take it in several processes, each within its own limit"},
    {"memory_by_files", "take it as files without a name (memfd)"},
    // What was never to come in.
    {"secrets_of_own", "find the server's secret in own environment, arguments, memory"},
    {"secrets_of_others", "find it in what other processes show"},
    {"secrets_in_files", "find it in any file"},
}};

}  // namespace sluice::hostile
