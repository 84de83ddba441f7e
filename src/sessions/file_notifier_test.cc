// H-4, H-8: hooks on the server's side.
#include "sessions/file_notifier.h"

#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/bytes.h"
#include "base/digest.h"
#include "runner/runner_fixture.h"
#include "sessions/host_command.h"

namespace sluice::sessions {
namespace file_notifier_test {

using namespace runner;

using workspace::FileNews;
using Words = std::vector<std::string>;

class HeraldTest : public RunnerTest {
 protected:
  FileNotifier& file_notifier() {
    if (!herald_) {
      herald_ = std::make_unique<FileNotifier>(hooks, FileNotifier::Needs{client, loop, workers, log},
                                               [this](const Words& argv, const std::string& input) {
                                                 executed.emplace_back(argv, input);
                                                 return answer;
                                               });
    }
    return *herald_;
  }
  void emit(std::string path) { file_notifier().notify({}, {{FileNews::Kind::created, std::move(path)}}, {42}); }

  FileHooks hooks;
  world::FakeWorkers workers{loop};
  Result<Unit> answer = Unit{};
  std::vector<std::pair<Words, std::string>> executed;
  std::unique_ptr<FileNotifier> herald_;
};

const char* const no_run = "run_00000000000000000000000000";

TEST_F(HeraldTest, Posts_what_changed_and_signs_it) {
  hooks = {.webhook_url = "http://hook.local/files", .webhook_secret = "Jefe"};
  client.answer(net::FakeAnswer::whole(204, ""));
  emit("a.txt");
  pass(0);
  ASSERT_EQ(client.requests.size(), 1u);
  const auto& request = client.requests[0];
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.url, "http://hook.local/files");
  EXPECT_EQ(request.body, std::string(R"({"run_id":")") + no_run +
                              R"(","events":[{"type":"create","path":"a.txt","timestamp":42}]})");
  EXPECT_EQ(request.headers.find("Sluice-Signature"), "sha256=" + to_hex(hmac_sha256("Jefe", request.body)));
  expect_nothing_left();
}

TEST_F(HeraldTest, Tries_a_few_times_in_order_and_then_goes_on) {
  hooks = {.webhook_url = "http://hook.local/files"};
  for (int i = 0; i < 4; ++i) client.answer(net::FakeAnswer::whole(500, ""));
  client.answer(net::FakeAnswer::whole(200, ""));
  emit("a.txt");
  emit("b.txt");
  pass(0);
  EXPECT_EQ(client.requests.size(), 1u) << "one at a time";
  pass(500 + 1'000 + 2'000);
  pass(0);
  ASSERT_EQ(client.requests.size(), 5u);
  EXPECT_NE(client.requests[3].body.find("a.txt"), std::string::npos);
  EXPECT_NE(client.requests[4].body.find("b.txt"), std::string::npos);
  ASSERT_EQ(log.lines.size(), 1u);
  EXPECT_NE(log.lines[0].find("file hook failed hook=webhook why=status 500"), std::string::npos) << log.lines[0];
  expect_nothing_left();
}

TEST_F(HeraldTest, Keeps_only_so_much_for_a_hook_that_hangs) {
  hooks = {.webhook_url = "http://hook.local/files"};
  client.answer(net::FakeAnswer());
  for (int i = 0; i < 300; ++i) emit(std::to_string(i));
  EXPECT_EQ(log.lines.size(), 300u - 256u);
}

TEST_F(HeraldTest, Runs_the_operator_s_command_one_at_a_time_and_complains_when_it_fails) {
  hooks = {.command = {"notify", "--all"}};
  emit("a.txt");
  answer = Error{ErrorKind::unavailable, "exit code 1"};
  EXPECT_TRUE(executed.empty()) << "not on the loop's turn";
  emit("b.txt");
  loop.settle();
  ASSERT_EQ(executed.size(), 2u);
  EXPECT_EQ(executed[0].first, (Words{"notify", "--all"}));
  EXPECT_EQ(executed[0].second,
            std::string(R"({"run_id":")") + no_run + R"(","type":"create","path":"a.txt","timestamp":42})" + "\n");
  EXPECT_EQ(log.lines.size(), 2u);
}

TEST_F(HeraldTest, Goes_without_a_word_when_its_runner_goes) {
  hooks = {.webhook_url = "http://hook.local/files", .command = {"notify"}};
  client.answer(net::FakeAnswer::whole(500, ""));
  emit("a.txt");
  pass(0);
  herald_.reset();
  pass(10'000);
  expect_nothing_left();
}

TEST(HostCommand, Gets_its_input_and_says_how_it_ended) {
  const auto file = testing::TempDir() + "host_command_" + std::to_string(getpid());
  EXPECT_TRUE(run_host_command({"sh", "-c", "cat > \"$0\"", file}, "a\nb\n", 10'000));
  std::ifstream in(file);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "a\nb\n");
  std::filesystem::remove(file);

  auto failed = run_host_command({"sh", "-c", "exit 3"}, "", 10'000);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().what, "exit code 3");
  EXPECT_FALSE(run_host_command({"/no/such/program"}, "", 10'000));
  auto late = run_host_command({"sh", "-c", "read x < /dev/zero"}, "", 50);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().what, "it took longer than 50 ms");
}

}  // namespace file_notifier_test
}  // namespace sluice::sessions
