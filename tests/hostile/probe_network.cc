// Attacks by way of the network, and by devices.
#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include "tests/hostile/probe.h"

namespace sluice::hostile {
namespace {

Verdict opens_socket(const std::string& name, int family, int kind, int protocol) {
  const int fd = socket(family, kind, protocol);
  const Verdict verdict = judge(name, fd, {EINVAL});  // a family answers so to a kind it has not
  if (fd >= 0) close(fd);
  return verdict;
}

Verdict raw_sockets(const Facts&) {
  return worst({opens_socket("raw ICMP", AF_INET, SOCK_RAW, IPPROTO_ICMP),
                opens_socket("raw IP", AF_INET, SOCK_RAW, IPPROTO_RAW),
                opens_socket("raw IPv6", AF_INET6, SOCK_RAW, IPPROTO_ICMPV6),
                opens_socket("packet", AF_PACKET, SOCK_RAW, 0x300),
                opens_socket("packet datagram", AF_PACKET, SOCK_DGRAM, 0x300)});
}

Verdict netlink_sockets(const Facts&) {
  Verdict sum;
  for (int protocol = 1; protocol < 23; ++protocol) {
    add(sum, opens_socket("netlink " + std::to_string(protocol), AF_NETLINK, SOCK_RAW, protocol));
  }
  return sum;
}

Verdict vsock(const Facts&) {
  return worst({opens_socket("stream", AF_VSOCK, SOCK_STREAM, 0), opens_socket("datagram", AF_VSOCK, SOCK_DGRAM, 0),
                opens("/dev/vsock", O_RDONLY), opens("/dev/vhost-vsock", O_RDONLY)});
}

Verdict odd_sockets(const Facts&) {
  constexpr std::array known = {AF_UNSPEC, AF_UNIX, AF_INET, AF_INET6, AF_NETLINK};
  Verdict sum;
  for (int family = 0; family < 46; ++family) {
    if (std::ranges::count(known, family) > 0) continue;
    for (const int kind : {SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, SOCK_SEQPACKET}) {
      const Verdict one = opens_socket("family " + std::to_string(family), family, kind, 0);
      if (one.outcome != Outcome::resisted) add(sum, one);
    }
  }
  return sum.outcome == Outcome::resisted ? resisted("41 families refused") : sum;
}

Verdict odd_protocols(const Facts&) {
  for (const auto& [kind, protocol] : {std::pair{SOCK_STREAM, IPPROTO_TCP}, std::pair{SOCK_DGRAM, IPPROTO_UDP}}) {
    if (socket(AF_INET, kind, protocol) < 0) return broken("not even TCP and UDP");  // NOLINT: kept open to the end
  }
  constexpr int last = 262;  // MPTCP
  Verdict sum;
  for (const int family : {AF_INET, AF_INET6}) {
    for (int protocol = 1; protocol <= last; ++protocol) {
      if (protocol == IPPROTO_TCP || protocol == IPPROTO_UDP) continue;
      for (const int kind : {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET}) {
        const Verdict one = opens_socket("protocol " + std::to_string(protocol), family, kind, protocol);
        if (one.outcome != Outcome::resisted) add(sum, one);
      }
    }
  }
  return sum.outcome == Outcome::resisted ? resisted("260 protocols refused") : sum;
}

// Refused at once is resisted; silence means that something left.
Verdict connects(const std::string& address, int port, int kind = SOCK_STREAM) {
  sockaddr_in6 six = {};
  sockaddr_in four = {};
  const bool is_six = address.find(':') != std::string::npos;
  four.sin_family = AF_INET;
  six.sin6_family = AF_INET6;
  four.sin_port = six.sin6_port = htons(static_cast<uint16_t>(port));
  if (inet_pton(is_six ? AF_INET6 : AF_INET, address.c_str(),
                is_six ? static_cast<void*>(&six.sin6_addr) : &four.sin_addr) != 1) {
    return broken("not an address: " + address);
  }
  const int fd = socket(is_six ? AF_INET6 : AF_INET, kind | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return judge("socket", fd);
  const auto* where = is_six ? reinterpret_cast<const sockaddr*>(&six) : reinterpret_cast<const sockaddr*>(&four);
  int answer = connect(fd, where, is_six ? sizeof six : sizeof four);
  if (answer == 0 && kind == SOCK_DGRAM) answer = static_cast<int>(send(fd, "x", 1, 0));
  if (answer != 0 && errno == EINPROGRESS) {
    pollfd waiting = {fd, POLLOUT, 0};
    if (poll(&waiting, 1, 2000) == 0) {
      close(fd);
      return escaped("a packet left for " + address);
    }
    socklen_t size = sizeof errno;
    int error = 0;
    getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
    errno = error;
    answer = error == 0 ? 0 : -1;
  }
  const Verdict verdict = judge(address + ":" + std::to_string(port), answer, {EADDRNOTAVAIL});
  close(fd);
  return verdict;
}

Verdict host_loopback(const Facts& facts) {
  const int port = static_cast<int>(facts.number("loopback_port"));
  return worst(
      {connects("127.0.0.1", port), connects("127.1.2.3", port), connects("::1", port), connects("0.0.0.0", port)});
}

Verdict host_addresses(const Facts& facts) {
  const int port = static_cast<int>(facts.number("loopback_port"));
  Verdict sum;
  for (const char* which : {"host_address", "gateway"}) {
    for (const int number : {port, 80, 22, 53}) add(sum, connects(facts[which], number));
  }
  return sum;
}

Verdict metadata_address(const Facts&) {
  return worst({connects("169.254.169.254", 80), connects("169.254.169.253", 53), connects("fd00:ec2::254", 80)});
}

Verdict internet(const Facts&) {
  return worst({connects("1.1.1.1", 443), connects("8.8.8.8", 53, SOCK_DGRAM), connects("2606:4700:4700::1111", 443),
                connects("255.255.255.255", 9, SOCK_DGRAM), connects("224.0.0.251", 5353, SOCK_DGRAM)});
}

// Its number, as /proc/net/tcp tells it; empty when nobody listens on 127.0.0.1:3128.
std::string egress_inode() {
  const std::string table = contents("/proc/net/tcp");
  const auto at = table.find(" 0100007F:0C38 00000000:0000 0A ");
  if (at == std::string::npos) return {};
  size_t from = at;
  for (int field = 0; field < 8; ++field) from = table.find_first_not_of(' ', table.find(' ', from + 1));
  return table.substr(from, table.find(' ', from) - from);
}

Verdict reopens(const std::string& process, const std::string& socket_name) {
  const std::string directory = "/proc/" + process + "/fd";
  DIR* descriptors = opendir(directory.c_str());
  if (descriptors == nullptr) return judge(directory, -1);
  Verdict sum = resisted(directory + " has it not");
  while (const dirent* entry = readdir(descriptors)) {
    std::array<char, 64> target{};
    const std::string path = directory + "/" + entry->d_name;
    if (readlink(path.c_str(), target.data(), target.size() - 1) > 0 && socket_name == target.data()) {
      sum = escaped(path + " is the listener");
    }
  }
  closedir(descriptors);
  return sum;
}

Verdict listens_in_place(in_addr_t place) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &yes, sizeof yes);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(3128);
  address.sin_addr.s_addr = htonl(place);
  int answer = bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  if (answer == 0) answer = listen(fd, 1);
  const Verdict verdict = judge("listen on 3128", answer, {EADDRINUSE});
  close(fd);
  return verdict;
}

Verdict egress_listener(const Facts&) {
  const std::string inode = egress_inode();
  if (inode.empty()) return broken("nobody listens on 127.0.0.1:3128");
  Verdict sum = worst({listens_in_place(INADDR_LOOPBACK), listens_in_place(INADDR_ANY)});
  DIR* processes = opendir("/proc");
  if (processes == nullptr) return broken("/proc cannot be listed");
  while (const dirent* entry = readdir(processes)) {
    const std::string name = entry->d_name;
    if (name.find_first_not_of("0123456789") == std::string::npos) add(sum, reopens(name, "socket:[" + inode + "]"));
  }
  closedir(processes);
  add(sum, reopens("1", "socket:[" + inode + "]"));  // it is not listed
  return sum;
}

Verdict network_interfaces(const Facts&) {
  const std::string table = contents("/proc/net/dev");
  std::string others;
  for (size_t at = 0; (at = table.find(':', at)) != std::string::npos; ++at) {
    const auto from = table.find_last_of(" \n", at) + 1;
    const std::string name = table.substr(from, at - from);
    if (name != "lo") others += " " + name;
  }
  Verdict sum = others.empty() ? resisted("lo alone") : escaped("interfaces" + others);
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return sum;
  ifreq request = {};
  std::strcpy(request.ifr_name, "lo");
  // As it is: where there is no sandbox, taking lo down would cut the machine off from itself.
  if (ioctl(fd, SIOCGIFFLAGS, &request) == 0) add(sum, judge("lo's flags", ioctl(fd, SIOCSIFFLAGS, &request)));
  add(sum, opens("/dev/net/tun", O_RDWR));
  close(fd);
  return sum;
}

Verdict connects_unix(const std::string& name, bool is_abstract) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  const size_t skip = is_abstract ? 1 : 0;
  std::memcpy(address.sun_path + skip, name.data(), std::min(name.size(), sizeof address.sun_path - 2));
  const auto length =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + skip + name.size() + (is_abstract ? 0 : 1));
  Verdict sum;
  for (const int kind : {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET}) {
    const int fd = socket(AF_UNIX, kind | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    add(sum, judge(name, connect(fd, reinterpret_cast<const sockaddr*>(&address), length)));
    close(fd);
  }
  return sum;
}

Verdict host_abstract_socket(const Facts& facts) { return connects_unix(facts["abstract_socket"], true); }

Verdict host_socket_by_path(const Facts& facts) {
  return worst({connects_unix(facts["socket_path"], false), connects_unix("/run/docker.sock", false),
                connects_unix("/run/dbus/system_bus_socket", false), connects_unix("/run/systemd/private", false)});
}

Verdict device_create(const Facts&) {
  Verdict sum;
  for (const char* place : {"/workspace", "/tmp", "/dev/shm"}) {
    const std::string path = std::string(place) + "/.probe-device";
    add(sum, judge(path + " (disk)", mknod(path.c_str(), S_IFBLK | 0600, makedev(254, 0))));
    add(sum, judge(path + " (memory)", mknod(path.c_str(), S_IFCHR | 0600, makedev(1, 1))));
  }
  return sum;
}

void judge_devices(const std::string& directory, Verdict& sum) {
  constexpr std::array harmless = {"null", "zero", "full", "random", "urandom", "tty", "ptmx"};
  DIR* open_directory = opendir(directory.c_str());
  if (open_directory == nullptr) return;
  while (const dirent* entry = readdir(open_directory)) {
    const std::string path = directory + "/" + entry->d_name;
    struct stat status = {};
    if (entry->d_name[0] == '.' || lstat(path.c_str(), &status) != 0) continue;
    if (S_ISDIR(status.st_mode)) judge_devices(path, sum);
    if (!S_ISCHR(status.st_mode) && !S_ISBLK(status.st_mode)) continue;
    if (std::ranges::count(harmless, std::string_view(entry->d_name)) == 0) add(sum, opens(path, O_RDONLY));
  }
  closedir(open_directory);
}

Verdict device_nodes(const Facts&) {
  Verdict sum = worst({opens("/dev/vda", O_RDONLY), opens("/dev/sda", O_RDONLY), opens("/dev/kvm", O_RDWR),
                       opens("/dev/fuse", O_RDWR), opens("/dev/loop-control", O_RDWR),
                       opens("/dev/mapper/control", O_RDWR), opens("/dev/uinput", O_RDWR)});
  judge_devices("/dev", sum);
  return sum;
}

constexpr std::array probes = {
    Probe{"raw_sockets", raw_sockets},
    Probe{"netlink_sockets", netlink_sockets},
    Probe{"vsock", vsock},
    Probe{"odd_sockets", odd_sockets},
    Probe{"odd_protocols", odd_protocols},
    Probe{"host_loopback", host_loopback},
    Probe{"host_addresses", host_addresses},
    Probe{"metadata_address", metadata_address},
    Probe{"internet", internet},
    Probe{"egress_listener", egress_listener},
    Probe{"network_interfaces", network_interfaces},
    Probe{"host_abstract_socket", host_abstract_socket},
    Probe{"host_socket_by_path", host_socket_by_path},
    Probe{"device_create", device_create},
    Probe{"device_nodes", device_nodes},
};

}  // namespace

std::span<const Probe> network_probes() { return probes; }

}  // namespace sluice::hostile
