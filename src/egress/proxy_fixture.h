// For tests of the proxy as a whole: an egress on a loop of its own, an upstream that says what the test
// tells it to, and a client in the place of the sandbox. Real sockets and real TLS, all on loopback. Waits
// end with an event or, after ten seconds, with a failure.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "egress/authority.h"
#include "egress/destination.h"
#include "egress/egress.h"
#include "egress/shared_state.h"
#include "egress/upstream_fixture.h"
#include "egress/wire_fixture.h"
#include "http/body.h"
#include "world/fake_world.h"

namespace sluice::egress {

// Hears everything, and lets the test's thread wait for it.
class RecordingListener final : public SandboxProxyListener {
 public:
  void on_request(RequestRecord record) override { add(records_, std::move(record)); }
  void on_question(Question question) override { add(questions_, std::move(question)); }
  RequestRecord record(std::size_t index = 0) { return wait(records_, index); }
  Question question(std::size_t index = 0) { return wait(questions_, index); }
  std::size_t record_count() {
    const std::lock_guard lock(mutex_);
    return records_.size();
  }
  std::size_t question_count() {
    const std::lock_guard lock(mutex_);
    return questions_.size();
  }

 private:
  template <typename T>
  void add(std::vector<T>& all, T one) {
    const std::lock_guard lock(mutex_);
    all.push_back(std::move(one));
    changed_.notify_all();
  }
  template <typename T>
  T wait(std::vector<T>& all, std::size_t index) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, test_patience, [&] { return all.size() > index; })) {
      ADD_FAILURE() << "heard nothing";
      return {};
    }
    return all[index];
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<RequestRecord> records_;
  std::vector<Question> questions_;
};

class ProxyTest : public testing::Test {
 protected:
  ProxyTest() : upstream_authority(Authority::open(directory / "upstream", "", clock, chance, mint_time).take()) {
    options.ca_dir = directory / "ours";
    options.upstream_ca_file = directory / "upstream/ca.pem";
    options.private_addresses = {"127.0.0.0/8"};
    for (const char* const host : {"api.test", "other.test", "blind.test", "asked.test", "denied.test"}) {
      options.host_addresses[host] = "127.0.0.1";
    }
    policy = {
        allow("api.test"),
        allow("other.test"),
        allow("blind.test"),
        allow("rebind.test"),
        {.effect = model::Effect::ask, .subject = model::Subject::host, .pattern = "asked.test", .reason = "Why?"}};
    policy[0].secrets = {"TOKEN", "LATER"};
    // An upstream may have any port, and is asked in the clear.
    for (auto& rule : policy) {
      if (rule.pattern == "blind.test") continue;
      for (int any = 1024; any < 65'536; ++any) rule.ports.push_back(static_cast<uint16_t>(any));
    }
    lookup = [](const std::string&) -> Result<std::vector<Address>> {
      return Error{ErrorKind::unavailable, "no such name"};
    };
  }
  ~ProxyTest() override {
    if (thread_.joinable()) {
      in_loop([&] {
        proxy.reset();
        egress.reset();
      });
      reactor->post([&] { reactor->stop(); });
      thread_.join();
    }
    workers.reset();
    std::filesystem::remove_all(directory);
  }

  static model::PolicyRule allow(std::string host) {
    return {.effect = model::Effect::allow, .subject = model::Subject::host, .pattern = std::move(host)};
  }

  // The rule of this host lets tunnels lead to the upstream.
  void name_port(const std::string& host, const Upstream& upstream) {
    const auto rule = std::ranges::find(policy, host, &model::PolicyRule::pattern);
    rule->ports.push_back(upstream.port());
  }

  // To be called once options, policy and secrets are as the test wants them.
  void start() {
    secrets->replace(on_file);
    listener = listen_on_loopback(port);
    thread_ = std::thread([this] { reactor->run(); });
    in_loop([&] {
      egress = make_egress_with(lookup, options, *reactor, *workers, *chance_of_system, log, metrics).take();
      proxy = egress->open(std::move(listener));
      proxy->serve({.policy = policy, .secrets = secrets, .workspace = workspace}, recorded);
    });
  }
  void in_loop(Callback<void()> work) {
    std::promise<void> done;
    reactor->post([&] {
      work();
      done.set_value();
    });
    done.get_future().wait();
  }
  // A human supplies what was asked for, or does not.
  void settle(uint64_t number, bool go_on, std::vector<vault::Secret> supplied = {}, std::string words = "") {
    in_loop([&] {
      for (auto& secret : supplied) on_file.push_back(std::move(secret));
      secrets->replace(on_file);
      proxy->settle(number, go_on, words);
    });
  }

  Client connect() { return Client(port); }
  // Through CONNECT, and then TLS as a sandbox would do it.
  Client connect_tls(const Upstream& upstream, const std::string& host = "api.test", const std::string& ca_file = "") {
    Client client(port);
    const std::string at = host + ":" + std::to_string(upstream.port());
    client.say("CONNECT " + at + " HTTP/1.1\r\nHost: " + at + "\r\n\r\n");
    EXPECT_EQ(client.hear_answer("CONNECT").status, 200);
    client.start_tls(host, ca_file.empty() ? options.ca_dir + "/ca.pem" : ca_file);
    return client;
  }
  SSL_CTX* certificate_of(const std::string& host) { return upstream_authority->context_for({.host = host}); }
  // "host:port" of an upstream under that name.
  static std::string at(const std::string& host, const Upstream& upstream) {
    return host + ":" + std::to_string(upstream.port());
  }

  world::FakeLoop clock;
  world::FakeEntropy chance;
  world::Metrics metrics;
  world::Histogram& mint_time = metrics.histogram("mint", "");
  const std::filesystem::path directory =
      std::filesystem::temp_directory_path() / ("sluice-egress-" + std::to_string(getpid()) + "-" +
                                                testing::UnitTest::GetInstance()->current_test_info()->name());
  std::unique_ptr<Authority> upstream_authority;

  EgressOptions options;
  model::Policy policy;
  std::optional<WorkspaceHost> workspace;
  Lookup lookup;
  std::vector<vault::Secret> on_file = {{.alias = "TOKEN", .value = "s3cr3t-value-of-token"}};
  std::shared_ptr<vault::Secrets> secrets = std::make_shared<vault::Secrets>();

  std::unique_ptr<world::Reactor> reactor = world::make_reactor().take();
  std::unique_ptr<world::Workers> workers = world::make_workers(*reactor, 2);
  std::unique_ptr<world::Entropy> chance_of_system = world::make_system_entropy();
  world::FakeLog log;
  RecordingListener recorded;
  OwnedFd listener;
  uint16_t port = 0;
  std::unique_ptr<Egress> egress;
  std::unique_ptr<SandboxProxy> proxy;

 private:
  std::thread thread_;
};

}  // namespace sluice::egress
