#include "bench/sandbox/oci_peer.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>

#include "bench/sandbox/spawned.h"

namespace sluice::bench {
namespace {

namespace fs = std::filesystem;

constexpr const char* config = R"({"ociVersion":"1.0.2","process":{"terminal":false,"user":{"uid":0,"gid":0},
"args":["sh","-c","echo hi"],"env":["PATH=/usr/bin:/bin"],"cwd":"/tmp","noNewPrivileges":true,
"capabilities":{"bounding":[],"effective":[],"permitted":[]}},"root":{"path":"rootfs","readonly":true},"mounts":[
{"destination":"/proc","type":"proc","source":"proc"},
{"destination":"/dev","type":"tmpfs","source":"tmpfs","options":["nosuid","mode=755"]},
{"destination":"/tmp","type":"tmpfs","source":"tmpfs"},
{"destination":"/usr","type":"none","source":"/usr","options":["rbind","ro"]}],"linux":{"namespaces":[
{"type":"pid"},{"type":"network"},{"type":"ipc"},{"type":"uts"},{"type":"mount"}]}})";

// A mount namespace in which the second kind of control groups is not seen: crun refuses machines that have both.
// Negative where it cannot be made.
int without_second_hierarchy() {
  std::array<int, 2> made{}, done{};
  if (pipe2(made.data(), O_CLOEXEC) != 0 || pipe2(done.data(), O_CLOEXEC) != 0) return -1;
  const pid_t pid = fork();
  char word = 0;
  if (pid == 0) {
    const bool alone = unshare(CLONE_NEWNS) == 0 && mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                       umount2("/sys/fs/cgroup/unified", MNT_DETACH) == 0;
    word = alone ? 'y' : 'n';
    if (write(made[1], &word, 1) != 1) _exit(1);
    close(done[1]);
    _exit(read(done[0], &word, 1) == 0 ? 0 : 1);  // until it was opened
  }
  int opened = -1;
  if (read(made[0], &word, 1) == 1 && word == 'y') {
    opened = open(("/proc/" + std::to_string(pid) + "/ns/mnt").c_str(), O_RDONLY | O_CLOEXEC);
  }
  for (const int end : {made[0], made[1], done[0], done[1]}) close(end);
  waitpid(pid, nullptr, 0);
  return opened;
}

}  // namespace

OciPeer::OciPeer(std::string runtime) : runtime_(std::move(runtime)) {
  std::string pattern = fs::temp_directory_path() / "sluice-oci-XXXXXX";
  directory_ = mkdtemp(pattern.data());
  if (std::system(("command -v " + runtime_ + " >/dev/null").c_str()) != 0) {
    missing_ = "it is not on this machine";
    return;
  }
  write_bundle();
  if (first_byte() >= 0) return;
  one_hierarchy_ = without_second_hierarchy();
  if (one_hierarchy_ < 0 || first_byte() < 0)
    missing_ = "it does not run a container here (root and control groups are needed)";
}

OciPeer::~OciPeer() {
  if (one_hierarchy_ >= 0) close(one_hierarchy_);
  std::error_code left;
  fs::remove_all(directory_, left);
}

void OciPeer::write_bundle() const {
  for (const char* name : {"usr", "proc", "dev", "tmp"}) fs::create_directories(directory_ / "rootfs" / name);
  for (const char* name : {"bin", "lib", "lib64"}) {
    fs::create_symlink(std::string("usr/") + name, directory_ / "rootfs" / name);
  }
  std::ofstream(directory_ / "config.json") << config;
}

double OciPeer::first_byte() {
  const auto start = Clock::now();
  const std::vector<std::string> words = {runtime_,
                                          "--root",
                                          (directory_ / "state").string(),
                                          "run",
                                          "--bundle",
                                          directory_.string(),
                                          "sluice-bench-" + std::to_string(getpid()) + "-" + std::to_string(++count_)};
  return bench::first_byte(one_hierarchy_ < 0 ? spawn(words) : spawn_in(one_hierarchy_, words), start);
}

}  // namespace sluice::bench
