#include "tests/hostile/host_bait.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "base/check.h"

namespace sluice::hostile {
namespace {

namespace fs = std::filesystem;

int listen_on_every_address(int& port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  socklen_t size = sizeof address;
  SLUICE_CHECK(bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0 && listen(fd, 64) == 0);
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  port = ntohs(address.sin_port);
  return fd;
}

// `name` begins with a NUL for an abstract one.
int listen_on_unix(const std::string& name) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, name.data(), name.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  SLUICE_CHECK(bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0 && listen(fd, 64) == 0);
  return fd;
}

std::string own_address() {
  std::string found = "192.0.2.2";  // a machine without one: nowhere
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return found;
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET || (one->ifa_flags & IFF_LOOPBACK) != 0)
      continue;
    char text[INET_ADDRSTRLEN];
    found = inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr, text, sizeof text);
    break;
  }
  freeifaddrs(all);
  return found;
}

std::string own_gateway() {
  std::ifstream routes("/proc/net/route");
  std::string line;
  while (std::getline(routes, line)) {
    unsigned destination = 1;
    in_addr gateway = {};
    if (std::sscanf(line.c_str(), "%*s %x %x", &destination, &gateway.s_addr) != 2 || destination != 0) continue;
    char text[INET_ADDRSTRLEN];
    return inet_ntop(AF_INET, &gateway, text, sizeof text);
  }
  return "192.0.2.1";
}

// Of this process alone: another one that lays its bait at the same time must not take this one's away.
key_t shm_key() { return 0x51000000 + getpid(); }

}  // namespace

HostBait::HostBait() {
  std::string pattern = fs::temp_directory_path() / "sluice-bait-XXXXXX";
  directory_ = mkdtemp(pattern.data());
  canary_ = "canary-" + std::to_string(getpid()) + "-of-the-host";
  fs::permissions(directory_, fs::perms(0755));  // only the sandbox is to be in the way
  for (const char* name : {"other", "data"}) fs::create_directories(directory_ / name);
  for (const char* name : {"secret", "other/file", "data/bootstrap.json"}) std::ofstream(directory_ / name) << canary_;
  setenv("SLUICE_BAIT", canary_.c_str(), 1);
  abstract_name_ = "sluice-bait-" + std::to_string(getpid());
  descriptors_ = {listen_on_every_address(loopback_port_), listen_on_unix(std::string(1, '\0') + abstract_name_),
                  listen_on_unix(directory_ / "socket")};
  // Left open without O_CLOEXEC, as a library might.
  for (const fs::path& leak : {directory_ / "secret", fs::path("/"), directory_}) {
    descriptors_.push_back(open(leak.c_str(), O_RDONLY));  // NOLINT
  }
  shm_id_ = shmget(shm_key(), 4096, IPC_CREAT | 0666);
}

HostBait::~HostBait() {
  for (const int fd : descriptors_) close(fd);
  if (shm_id_ >= 0) shmctl(shm_id_, IPC_RMID, nullptr);
  unsetenv("SLUICE_BAIT");
  std::error_code left;
  fs::remove_all(directory_, left);
}

std::vector<std::string> HostBait::facts(const sandbox::Limits& limits, const std::string& bound) const {
  return {"secret_file=" + (directory_ / "secret").string(),
          "other_workspace=" + (directory_ / "other").string(),
          "data_dir=" + (directory_ / "data").string(),
          "socket_path=" + (directory_ / "socket").string(),
          "abstract_socket=" + abstract_name_,
          "loopback_port=" + std::to_string(loopback_port_),
          "host_address=" + own_address(),
          "gateway=" + own_gateway(),
          "outside_pid=" + std::to_string(getpid()),
          "shm_key=" + std::to_string(shm_key()),
          "canary_backwards=" + std::string(canary_.rbegin(), canary_.rend()),
          "bound=" + bound,
          "processes_max=" + std::to_string(limits.processes_max),
          "memory_bytes_max=" + std::to_string(limits.memory_bytes_max),
          "open_files_max=" + std::to_string(limits.open_files_max),
          "file_bytes_max=" + std::to_string(limits.file_bytes_max),
          "workspace_bytes_max=" + std::to_string(limits.workspace_bytes_max),
          "tmp_bytes_max=" + std::to_string(limits.tmp_bytes_max)};
}

}  // namespace sluice::hostile
