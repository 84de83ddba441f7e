#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "sandbox/box/commands.h"
#include "sandbox/box/listeners.h"
#include "sandbox/box/messages.h"
#include "sandbox/box/steps.h"
#include "sandbox/box/zygote.h"

namespace sluice::sandbox::box {
namespace {

struct Stage {
  const char* path = "";
  char text[PATH_MAX] = "";
  char* below(const char* name) {
    snprintf(text, sizeof text, "%s%s", path, name);
    return text;
  }
};

// A runtime opens its program by name, and this one was started from memory.
bool copy_program(const char* to) {
  const int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  const int copy = open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
  struct stat size{};
  if (from < 0 || copy < 0 || fstat(from, &size) != 0) return false;
  while (size.st_size > 0) {
    const ssize_t n = sendfile(copy, from, nullptr, static_cast<std::size_t>(size.st_size));
    if (n <= 0) return false;
    size.st_size -= n;
  }
  close(from);
  return close(copy) == 0;
}

bool make_owned(char* path, uid_t owner) { return make_directories(path) && chown(path, owner, owner) == 0; }

// The upper layer is outside the root, so that a sandbox sees its workspace only.
bool lay_workspace(Stage& stage, Reader& fields, Trouble& trouble) {
  const char* const room = fields.text();
  const char* const overlay = fields.text();
  const auto owner = static_cast<uid_t>(fields.number());
  const char* const lower = fields.text();
  if (!make_directories(stage.below("/upper")) ||
      mount("tmpfs", stage.text, "tmpfs", MS_NOSUID | MS_NODEV, room) != 0) {
    return trouble.say("mount the upper layer");
  }
  for (const char* name : {"/upper/changes", "/upper/work", "/upper/empty"}) {
    if (!make_owned(stage.below(name), owner)) return trouble.say("make %s", stage.text);
  }
  static char options[4096];  // what mount(2) takes: a page
  const int bytes = snprintf(options, sizeof options, "%supperdir=%s/upper/changes,workdir=%s/upper/work,lowerdir=%s",
                             overlay, stage.path, stage.path, *lower != 0 ? lower : stage.below("/upper/empty"));
  if (bytes >= static_cast<int>(sizeof options)) return trouble.say("lay %d bytes of layers over each other", bytes);
  if (mount("overlay", stage.below("/root/workspace"), "overlay", MS_NOSUID | MS_NODEV, options) != 0) {
    return trouble.say("mount the workspace's overlay");
  }
  return true;
}

// crun refuses a machine where the old and the unified hierarchy are both mounted; without the
// unified one, which such machines give no controllers, it is content.
void hide_mounts(Reader& fields) {
  for (uint64_t count = fields.number(); count > 0; --count) umount2(fields.text(), MNT_DETACH);
}

bool lay_out(Stage& stage, Reader& fields, Trouble& trouble) {
  if (unshare(CLONE_NEWNS) != 0) return trouble.say("unshare the mount namespace");
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return trouble.say("make mounts private");
  hide_mounts(fields);
  stage.path = fields.text();
  if (mount("tmpfs", stage.path, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=16m") != 0) {
    return trouble.say("mount a tmpfs at %s", stage.path);
  }
  if (!make_directories(stage.below("/root"))) return trouble.say("make %s", stage.text);
  char root[PATH_MAX];
  snprintf(root, sizeof root, "%s", stage.text);
  char empty[PATH_MAX];
  snprintf(empty, sizeof empty, "%s", stage.below("/empty"));
  if (!make_directories(empty)) return trouble.say("make %s", empty);
  const Site site = {.tree = root, .empty = empty, .is_mapped = false};
  if (!take_steps(fields, site, trouble) || !lay_workspace(stage, fields, trouble)) return false;
  if (!copy_program(stage.below("/root/sluice-box"))) return trouble.say("copy the box program");
  std::size_t bytes = 0;
  const char* const config = fields.text(&bytes);
  if (!make_directories(stage.below("/bundle")) || !write_file(stage.below("/bundle/config.json"), config, bytes)) {
    return trouble.say("write config.json");
  }
  return true;
}

// Shows the server the workspace and its changes, then turns into the runtime, which leaves the line
// to the sandbox.
bool launch(Message& order, Trouble& trouble) {
  Reader fields(order.payload, order.head.payload_bytes);
  Stage stage;
  umask(022);
  if (!lay_out(stage, fields, trouble)) return false;
  const int shown[2] = {open(stage.below("/root/workspace"), O_PATH | O_DIRECTORY | O_CLOEXEC),
                        open(stage.below("/upper/changes"), O_PATH | O_DIRECTORY | O_CLOEXEC)};
  if (shown[0] < 0 || shown[1] < 0) return trouble.say("open the workspace");
  if (!send(server_descriptor, Head{.verb = Verb::claimed}, shown, 2)) return trouble.say("show the workspace");
  const uint64_t count = fields.number();
  auto** const arguments = static_cast<char**>(calloc(count + 1, sizeof(char*)));
  if (arguments == nullptr) return trouble.say("start the runtime");
  for (uint64_t i = 0; i < count; ++i) arguments[i] = const_cast<char*>(fields.text());
  close_range(server_descriptor + 1, ~0u, 0);
  fcntl(server_descriptor, F_SETFD, 0);
  execv(arguments[0], arguments);
  return trouble.say("start %s", arguments[0]);
}

}  // namespace

int run_launch() {
  Message order;
  if (receive(server_descriptor, order) == Received::end) return 1;
  Trouble trouble;
  if (launch(order, trouble)) return 0;
  send_failure(server_descriptor, {.verb = Verb::failed}, trouble.what);
  return 1;
}

int run_guest() {
  // The runtime gave this process the sandbox's own user: without this, commands could look into it.
  prctl(PR_SET_DUMPABLE, 0);
  prctl(PR_SET_NAME, "sluice-init");
  fcntl(server_descriptor, F_SETFD, FD_CLOEXEC);
  close_range(server_descriptor + 1, ~0u, 0);
  // The pid that the server knows it by is not ours to tell; a descriptor is the same to both.
  int shown[1 + listener_count] = {static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0))};
  if (shown[0] < 0) return 1;
  int listeners[listener_count] = {-1, -1};
  Trouble trouble;
  if (!open_listeners(listeners, trouble)) {
    send_failure(server_descriptor, {.verb = Verb::failed}, trouble.what);
    return 1;
  }
  memcpy(shown + 1, listeners, sizeof listeners);
  const Head ready = {.verb = Verb::ready, .a = listener_count};
  // Numbers would be of no use: the pidfd by which the server could take them is among what is refused.
  if (!send(server_descriptor, ready, shown, 1 + listener_count)) {
    trouble.say("hand over the sandbox's listeners");
    send_failure(server_descriptor, {.verb = Verb::failed}, trouble.what);
    return 1;
  }
  close_range(server_descriptor + 1, ~0u, 0);
  Kept none;
  return serve_commands(server_descriptor, none);
}

}  // namespace sluice::sandbox::box
