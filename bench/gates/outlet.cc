// A box's way out without a box: the egress proxy on a port of this machine, for the benchmark's client.
//
//   outlet --ca-dir DIR --upstream-ca FILE --hosts N [--secret VALUE]
//
// h0.bench.test … hN.bench.test lead to 127.0.0.1 and are allowed; with a secret, BENCH_KEY may be sent there, so that
// TLS is looked into and answers are scrubbed. Prints the port; then, for each byte on standard input, its figures and
// an empty line; goes at the end of standard input.
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "egress/egress.h"
#include "vault/vault.h"
#include "world/world.h"

namespace sluice::bench {
namespace {

[[noreturn]] void die(const std::string& what) {
  std::fprintf(stderr, "outlet: %s\n", what.c_str());
  std::exit(1);
}

struct Options {
  egress::EgressOptions egress;
  std::string secret;
};

Options parse(int argc, char** argv) {
  Options options;
  options.egress.private_addresses = {"127.0.0.0/8"};
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view flag = argv[i];
    const std::string value = argv[i + 1];
    if (flag == "--ca-dir")
      options.egress.ca_dir = value;
    else if (flag == "--upstream-ca")
      options.egress.upstream_ca_file = value;
    else if (flag == "--secret")
      options.secret = value;
    else if (flag == "--hosts")
      for (int host = 0; host <= std::stoi(value); ++host)
        options.egress.host_addresses["h" + std::to_string(host) + ".bench.test"] = "127.0.0.1";
    else
      die("no such flag: " + std::string(flag));
  }
  return options;
}

OwnedFd listen_somewhere() {
  OwnedFd fd(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  socklen_t size = sizeof address;
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  if (bind(fd.get(), any, size) != 0 || listen(fd.get(), 128) != 0 || getsockname(fd.get(), any, &size) != 0) {
    die("cannot listen");
  }
  std::printf("%d\n", ntohs(address.sin_port));
  std::fflush(stdout);
  return fd;
}

egress::RunAccess make_guest(const std::string& secret) {
  egress::RunAccess guest;
  model::PolicyRule rule{.effect = model::Effect::allow, .subject = model::Subject::host, .pattern = "*.bench.test"};
  guest.secrets = std::make_shared<vault::Secrets>();
  if (!secret.empty()) {
    rule.secrets = {"BENCH_KEY"};
    guest.secrets->replace({{.alias = "BENCH_KEY", .value = secret}});
  }
  guest.policy = {rule};
  return guest;
}

class Deaf final : public egress::SandboxProxyListener {
 public:
  void on_request(egress::RequestRecord) override {}
  void on_question(egress::Question question) override { die("it asks about " + question.host); }
};

int run(const Options& options) {
  auto reactor = world::make_reactor().take();
  const auto workers = world::make_workers(*reactor, 1);
  const auto entropy = world::make_system_entropy();
  const auto log = world::make_stderr_log(world::LogFormat::human, world::LogLevel::warn);
  world::Metrics metrics;
  auto egress = egress::make_egress(options.egress, *reactor, *workers, *entropy, *log, metrics);
  if (!egress) die(egress.error().what);
  Deaf listener;
  const auto outlet = egress.value()->open(listen_somewhere());
  outlet->serve(make_guest(options.secret), listener);
  const auto asked = reactor->watch(STDIN_FILENO, {.read = true}, [&](world::Ready) {
    char byte = 0;
    if (read(STDIN_FILENO, &byte, 1) != 1) return reactor->stop();
    std::printf("%s\n", metrics.to_text().c_str());
    std::fflush(stdout);
  });
  reactor->run();
  return 0;
}

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) { return sluice::bench::run(sluice::bench::parse(argc, argv)); }
