// A repository comes from a server that wants a password, through a real git in a real box.
#include <fstream>
#include <iterator>

#include "runner/host_command.h"
#include "runner/real_hands_fixture.h"

namespace sluice::runner {
namespace repository_real_test {

class RealRepository : public RealHands {
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
    const auto host = "127.0.0.1:" + std::to_string(server->port());
    options.hands.repository_urls = {"http://" + host};
    options.hands.git_credentials["bot"] = {host, "robot", "pass-word"};
    options.hands.clone_timeout_ms = 20'000;
    materials.repository =
        harness::RepositoryUse{.id = "rep_1", .url = "http://" + host + "/app", .depth = 0, .credential_alias = "bot"};
  }

  // Plain files of .git are enough for git to clone.
  void serve(const std::string& work_tree, net::Exchange& exchange) {
    const auto& request = exchange.request();
    if (request.headers.find("authorization") != "Basic cm9ib3Q6cGFzcy13b3Jk") return exchange.respond({.status = 401});
    std::ifstream file(work_tree + "/.git" + request.path.substr(std::string_view("/app").size()), std::ios::binary);
    if (!file) return exchange.respond({.status = 404});
    exchange.respond({.body = std::string(std::istreambuf_iterator<char>(file), {})});
  }

  std::unique_ptr<net::Server> server;
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

}  // namespace repository_real_test
}  // namespace sluice::runner
