#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <initializer_list>

#include "sandbox/box/commands.h"
#include "sandbox/box/listeners.h"
#include "sandbox/box/steps.h"
#include "sandbox/box/zygote.h"

// While a sandbox waits, /workspace is a tmpfs with upper, work, lower, harness and state in it, covered by an
// overlay of an empty lower layer. Init works in that tmpfs, below the cover, where no path leads. A
// claim without layers finds its workspace ready; one with layers lays a second overlay on top.
namespace sluice::sandbox::box {
namespace {

constexpr const char* drawer_path = "/tree/workspace";
constexpr const char* workspace_path = "/workspace";

bool become_user(const Zygote& zygote, uint64_t uid, uint64_t gid, Trouble& trouble) {
  if (zygote.is_root && setgroups(0, nullptr) != 0) return trouble.say("leave the server's groups");
  const auto user = static_cast<uid_t>(uid);
  const auto group = static_cast<gid_t>(gid);
  if (setresgid(group, group, group) != 0 || setresuid(user, user, user) != 0)
    return trouble.say("become the box's user");
  // Both after setresuid, which forgets them.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_DUMPABLE, 0);
  return true;
}

void raise_loopback() {
  const int any = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (any < 0) return;
  ifreq request{};
  strcpy(request.ifr_name, "lo");
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  ioctl(any, SIOCSIFFLAGS, &request);
  close(any);
}

// Layers' names are given by the server; those that would break up the options are escaped by it.
bool lay_overlay(const char* upper, const char* work, const char* lower, Trouble& trouble) {
  static char options[4096];  // what mount(2) takes: a page
  const int bytes =
      snprintf(options, sizeof options, "userxattr,upperdir=%s,workdir=%s,lowerdir=%s", upper, work, lower);
  if (bytes >= static_cast<int>(sizeof options)) {
    errno = E2BIG;
    return trouble.say("lay %d bytes of layers over each other", bytes);
  }
  if (mount("overlay", workspace_path, "overlay", MS_NOSUID | MS_NODEV, options) != 0) {
    return trouble.say("mount the workspace's overlay");
  }
  return true;
}

// `options` of the tmpfs; or, where the kernel keeps no attributes there, the place of a directory
// below the state directory that stands in for it.
bool furnish_workspace(const Zygote& zygote, const char* options, const char* instead, Trouble& trouble) {
  char path[PATH_MAX];
  if (*instead == 0) {
    if (mount("tmpfs", drawer_path, "tmpfs", MS_NOSUID | MS_NODEV, options) != 0)
      return trouble.say("mount the upper layer");
  } else {
    snprintf(path, sizeof path, "%s/%s", state_path, instead);
    if (mount(path, drawer_path, nullptr, MS_BIND, nullptr) != 0) return trouble.say("bind the upper layer");
  }
  for (const char* name : {"upper", "work", "lower", "upper-2", "work-2", "harness", "state"}) {
    snprintf(path, sizeof path, "%s/%s", drawer_path, name);
    if (mkdir(path, 0755) != 0) return trouble.say("make %s", path);
  }
  if (mount(state_path, path, nullptr, MS_BIND | MS_REC, nullptr) != 0) return trouble.say("bind the state directory");
  if (!zygote.has_harness) return true;
  snprintf(path, sizeof path, "%s/harness", drawer_path);
  return mount(harness_path, path, nullptr, MS_BIND | MS_REC, nullptr) == 0 || trouble.say("bind the agent programs");
}

bool move_into_tree(Trouble& trouble) {
  if (chdir(tree_path) != 0 || syscall(SYS_pivot_root, ".", ".") != 0) return trouble.say("pivot into the box");
  if (umount2(".", MNT_DETACH) != 0) return trouble.say("leave the zygote's tree");
  if (chdir(workspace_path) != 0) return trouble.say("enter the workspace");
  return lay_overlay("upper", "work", "lower", trouble);
}

void set_limits(Reader& fields) {
  const uint64_t count = fields.number();
  for (uint64_t i = 0; i < count; ++i) {
    const auto resource = static_cast<__rlimit_resource>(fields.number());
    rlimit wanted = {fields.number(), fields.number()};
    rlimit now{};
    getrlimit(resource, &now);
    if (wanted.rlim_max > now.rlim_max) wanted.rlim_max = now.rlim_max;
    if (wanted.rlim_cur > wanted.rlim_max) wanted.rlim_cur = wanted.rlim_max;
    setrlimit(resource, &wanted);
  }
}

// What a sandbox takes of these is counted for its user outside too. Where that is the user of all sandboxes, or the
// server's own, whose watcher would be left without, each must be content with little: root has 128 instances by
// default. And a second lock on what the filter refuses. The kernel goes by who writes, so that the zygote's /proc will
// do.
void bound_tables(bool is_own_user) {
  write_file("/proc/sys/user/max_inotify_instances", is_own_user ? "64" : "8", is_own_user ? 2 : 1);
  write_file("/proc/sys/user/max_inotify_watches", is_own_user ? "65536" : "8192", is_own_user ? 5 : 4);
  write_file("/proc/sys/user/max_user_namespaces", "0", 1);
}

bool build(const Zygote& zygote, Message& order, int (&listeners)[listener_count], Trouble& trouble) {
  Reader fields(order.payload, order.head.payload_bytes);
  fields.number();
  const uint64_t uid = fields.number();
  fields.number();
  const uint64_t gid = fields.number();
  fields.number();
  if (!become_user(zygote, uid, gid, trouble)) return false;
  const char* const hostname = fields.text();
  sethostname(hostname, strlen(hostname));
  bound_tables(zygote.user_count > 0);
  raise_loopback();
  if (!open_listeners(listeners, trouble)) return false;

  // Mounts that came along from the zygote are locked to each other; a copy of them has one top that is ours.
  if (mount(tree_path, tree_path, nullptr, MS_BIND | MS_REC, nullptr) != 0) return trouble.say("bind the tree");
  const char* const upper_options = fields.text();
  if (!furnish_workspace(zygote, upper_options, fields.text(), trouble)) return false;
  Reader limits = fields;
  const uint64_t limit_count = fields.number();
  for (uint64_t i = 0; i < limit_count * 3; ++i) fields.number();
  if (!take_steps(fields, {.tree = tree_path, .drawer = drawer_path}, trouble) || !move_into_tree(trouble))
    return false;
  set_limits(limits);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return trouble.say("refuse new privileges");
  for (unsigned long capability = 0; prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0; ++capability) {
  }
  return true;
}

bool drop_privileges(const Zygote& zygote, Trouble& trouble) {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct nothing[2] = {};
  if (syscall(SYS_capset, &header, nothing) != 0) return trouble.say("drop capabilities");
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &zygote.filter, 0, 0) != 0) return trouble.say("load the filter");
  return true;
}

bool claim(const Zygote& zygote, Message& order, int (&shown)[2], Trouble& trouble) {
  Reader fields(order.payload, order.head.payload_bytes);
  if (!take_steps(fields, {.empty = "lower"}, trouble)) return false;
  std::size_t lower_bytes = 0;
  const char* const lower = fields.text(&lower_bytes);
  const char* upper = "upper";
  if (lower_bytes > 0) {
    upper = "upper-2";
    if (!lay_overlay(upper, "work-2", lower, trouble)) return false;
  }
  shown[0] = open(workspace_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
  shown[1] = open(upper, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (shown[0] < 0 || shown[1] < 0) return trouble.say("open the workspace");
  if (zygote.has_harness && umount2("harness", MNT_DETACH) != 0) return trouble.say("leave the agent programs");
  if (umount2("state", MNT_DETACH) != 0 || chdir("/") != 0) return trouble.say("leave the state directory");
  return drop_privileges(zygote, trouble);
}

[[noreturn]] void give_up(int line, const Trouble& trouble) {
  send_failure(line, {.verb = Verb::failed}, trouble.what);
  _exit(1);
}

}  // namespace

void be_init(const Zygote& zygote, Message& order, int go) {
  char byte = 0;
  if (order.descriptor_count < 1 || read(go, &byte, 1) != 1) _exit(1);
  // One descriptor from here on: what a sandbox could inherit is what is open now.
  constexpr int line = server_descriptor;
  const int wanted = fcntl(order.descriptors[0], F_DUPFD_CLOEXEC, 100);
  if (wanted < 0 || dup3(wanted, line, O_CLOEXEC) < 0) _exit(1);
  close_range(line + 1, ~0u, 0);
  prctl(PR_SET_NAME, "sluice-init");

  Trouble trouble;
  int listeners[listener_count] = {-1, -1};
  if (!build(zygote, order, listeners, trouble)) give_up(line, trouble);
  Kept kept;
  if (!hand_over(line, {.verb = Verb::ready, .a = listener_count}, listeners, listener_count, kept)) {
    trouble.say("hand over the sandbox's listeners");
    give_up(line, trouble);
  }
  Message asked;
  if (receive(line, asked) == Received::end || asked.head.verb != Verb::claim) _exit(0);
  int shown[2] = {-1, -1};
  if (!claim(zygote, asked, shown, trouble)) give_up(line, trouble);
  if (!hand_over(line, {.verb = Verb::claimed}, shown, 2, kept)) {
    trouble.say("hand over the workspace");
    give_up(line, trouble);
  }
  release(asked);
  _exit(serve_commands(line, kept));
}

}  // namespace sluice::sandbox::box
