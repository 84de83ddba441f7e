// A repository comes from a server that wants a password, through a real git in a real sandbox.
#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstring>
#include <fstream>
#include <iterator>

#include "runner/real_session_fixture.h"
#include "sessions/host_command.h"

namespace sluice::sessions {
namespace repository_real_test {

using namespace runner;

// Before git has its sandbox, a program looks around there as one that broke out of git would.
class LookingAround final : public sandbox::Sandbox {
 public:
  LookingAround(std::unique_ptr<sandbox::Sandbox> real, std::string script)
      : real_(std::move(real)), script_(std::move(script)) {}
  std::string_view driver() const override { return real_->driver(); }
  const std::vector<sandbox::Ability>& abilities() const override { return real_->abilities(); }
  int warm_available() const override { return real_->warm_available(); }
  uint64_t open(sandbox::BoxRequest request, Callback<void(Result<std::unique_ptr<sandbox::Box>>)> done) override {
    const bool is_gits = request.name.ends_with("-repository");
    return real_->open(std::move(request), [this, is_gits, done = std::move(done)](auto box) mutable {
      if (!is_gits || !box) return done(std::move(box));
      box_ = std::move(box).take();
      done_ = std::move(done);
      process_ = box_->start({.argv = {"bash", "-c", script_}, .timeout_ms = 20'000}, listener_);
    });
  }
  void give_up(uint64_t ticket) override { real_->give_up(ticket); }
  void close(Callback<void()> done) override { real_->close(std::move(done)); }

  std::string seen;

 private:
  struct Listener final : sandbox::ProcessListener {
    explicit Listener(LookingAround& its) : all(its) {}
    void on_output(sandbox::Stream, std::string_view bytes) override { all.seen += bytes; }
    void on_exit(sandbox::Exit) override { all.done_(std::move(all.box_)); }
    LookingAround& all;
  };

  std::unique_ptr<sandbox::Sandbox> real_;
  const std::string script_;
  Listener listener_{*this};
  std::unique_ptr<sandbox::Box> box_;
  Callback<void(Result<std::unique_ptr<sandbox::Box>>)> done_;
  std::unique_ptr<sandbox::Process> process_;
};

// Named by the test's own process, so that no other test has it.
class AbstractListener {
 public:
  AbstractListener() {
    sockaddr_un address{.sun_family = AF_UNIX};
    std::memcpy(address.sun_path + 1, name.data(), name.size());
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    SLUICE_CHECK(bind(fd_.get(), reinterpret_cast<sockaddr*>(&address), size) == 0 && listen(fd_.get(), 8) == 0);
  }
  const std::string name = "sluice-clone-" + std::to_string(getpid());

 private:
  OwnedFd fd_{socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
};

class RealRepository : public RealSession {
 protected:
  RealRepository() {
    const auto work_tree = state_dir + "/origin";
    const auto made =
        run_host_command({"sh", "-ec",
                          "mkdir \"$0\"; cd \"$0\"; git init -q -b main .; echo 'Use tabs.' > AGENTS.md; git add .; "
                          "git -c user.name=A -c user.email=a@example.org commit -q -m First; git update-server-info",
                          work_tree},
                         "", 30'000);
    SLUICE_CHECK(bool(made));
    auto served = net::serve(
        *reactor, {}, [this, work_tree](std::shared_ptr<net::Exchange> exchange) { serve(work_tree, *exchange); },
        nullptr, metrics);
    SLUICE_CHECK(bool(served));
    server = std::move(served).take();
    open_egress();
    host = "127.0.0.1:" + std::to_string(server->port());
    options.sessions.repository_urls = {"http://" + host};
    options.sessions.git_credentials["bot"] = {host, "robot", "pass-word"};
    options.sessions.clone_timeout_ms = 20'000;
    materials.repository =
        dispatch::RepositoryUse{.id = "rep_1", .url = "http://" + host + "/app", .depth = 0, .credential_alias = "bot"};
  }

  // Plain files of .git are enough for git to clone.
  void serve(const std::string& work_tree, net::Exchange& exchange) {
    ++requests;
    const auto& request = exchange.request();
    if (request.headers.find("authorization") != "Basic cm9ib3Q6cGFzcy13b3Jk") return exchange.respond({.status = 401});
    std::ifstream file(work_tree + "/.git" + request.path.substr(std::string_view("/app").size()), std::ios::binary);
    if (!file) return exchange.respond({.status = 404});
    exchange.respond({.body = std::string(std::istreambuf_iterator<char>(file), {})});
  }

  std::unique_ptr<net::Server> server;
  std::string host;
  int requests = 0;
};

// I-25
TEST_F(RealRepository, Is_there_and_its_credential_is_not) {
  run("$ cat AGENTS.md\nsay {{last}}\n$ git log --format=%s\nsay {{last}}\n"
      "$ cat .git/config; env; grep -r -e pass-word -e cm9ib3Q6 . ; true\nsay {{last}}");
  EXPECT_TRUE(heard.text().starts_with("Use tabs.\nFirst\n")) << heard.text();
  EXPECT_EQ(heard.text().find("pass-word"), std::string::npos);
  EXPECT_EQ(heard.text().find("cm9ib3Q6"), std::string::npos);
}

TEST_F(RealRepository, H_5_the_diff_is_against_the_repository_as_it_was_fetched) {
  run("write one.md: first\n$ echo 'Use spaces.' > AGENTS.md");
  run("write two.md: second\n$ git add -A; git -c user.name=A -c user.email=a@example.org commit -q -m Second");
  ASSERT_EQ(heard.bodies(model::EventKind::diff).size(), 1u);
  const auto diff = heard.bodies(model::EventKind::diff)[0];
  for (const auto* line : {"-Use tabs.", "+Use spaces.", "+first", "+second"}) {
    EXPECT_NE(diff.find(line), std::string::npos) << line << "\n" << diff;
  }
  run("$ git checkout -q main^ -- AGENTS.md; rm one.md two.md");
  EXPECT_TRUE(heard.bodies(model::EventKind::diff).empty()) << "nothing differs any more";
}

TEST_F(RealRepository, Is_fetched_whole_from_a_server_that_cannot_give_a_part) {
  materials.repository->depth = 1;
  run("$ git log --format=%s\nsay {{last}}");
  EXPECT_EQ(heard.text(), "First");
  EXPECT_TRUE(was_told(model::EventKind::log, "cannot give a part of the history"));
}

// I-17: a hole in git reaches nothing of this machine.
TEST_F(RealRepository, I_17_git_runs_where_no_loopback_and_no_abstract_socket_of_the_host_is_reached) {
  const AbstractListener secret;
  auto looking = std::make_unique<LookingAround>(
      std::move(sandbox),
      "(exec 3<>/dev/tcp/127.0.0.1/" + std::to_string(server->port()) + ") 2>/dev/null && echo loopback; grep -o " +
          secret.name + " /proc/net/unix; " +
          "grep -q : /proc/net/route && echo route; grep -v -e Inter -e face -e lo: /proc/net/dev; " + "echo looked");
  const auto& seen = looking->seen;
  sandbox = std::move(looking);
  run("$ cat AGENTS.md\nsay {{last}}");
  EXPECT_EQ(seen, "looked\n");
  EXPECT_EQ(heard.text(), "Use tabs.") << "and yet it is cloned";
}

TEST_F(RealRepository, I_17_what_only_the_star_allows_is_not_cloned_from_this_machine) {
  options.sessions.repository_urls = {"*"};
  options.sessions.git_credentials.clear();
  materials.repository->credential_alias.reset();
  for (const char* const name : {"127.0.0.1", "localhost", "[::1]"}) {
    materials.repository->url = "http://" + std::string(name) + ":" + std::to_string(server->port()) + "/app";
    run_any("say Hello.");
    ASSERT_TRUE(heard.problem) << name;
    EXPECT_EQ(model::entry_of(heard.problem->slug).name, model::entry_of(model::Slug::repository_failed).name);
    EXPECT_NE(heard.problem->detail.find(" leads to "), std::string::npos) << heard.problem->detail;
    EXPECT_NE(heard.problem->detail.find("allows public addresses only"), std::string::npos) << heard.problem->detail;
  }
  EXPECT_EQ(requests, 0);
}

TEST_F(RealRepository, A_host_that_does_not_answer_is_named_in_the_problem) {
  server.reset();
  run_any("say Hello.");
  ASSERT_TRUE(heard.problem);
  EXPECT_NE(heard.problem->detail.find("127.0.0.1 cannot be reached: Connection refused"), std::string::npos)
      << heard.problem->detail;
}

}  // namespace repository_real_test
}  // namespace sluice::sessions
