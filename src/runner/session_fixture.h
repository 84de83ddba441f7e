// A runner with sandboxes, whose sandbox, watcher and supplies do as the test says.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/digest.h"
#include "egress/fake_egress.h"
#include "runner/runner_fixture.h"
#include "sandbox/fake_sandbox.h"
#include "workspace/workspace.h"

namespace sluice::runner {

class FakeWatcher final : public workspace::Watcher {
 public:
  Result<std::unique_ptr<workspace::Watching>> watch(int, workspace::WatchRules asked,
                                                     Callback<void(std::vector<workspace::FileNews>)> news) override {
    if (fails) return Error{ErrorKind::unavailable, "no more watches"};
    rules = std::move(asked);
    emit = std::move(news);
    ++watching;
    return std::unique_ptr<workspace::Watching>(std::make_unique<One>(*this));
  }

  bool fails = false;
  int watching = 0;
  workspace::WatchRules rules;
  Callback<void(std::vector<workspace::FileNews>)> emit;
  std::vector<workspace::FileNews> at_settle;  // reported when the end comes

 private:
  struct One final : workspace::Watching {
    explicit One(FakeWatcher& of) : watcher(of) {}
    ~One() override { --watcher.watching; }
    void settle() override {
      if (!watcher.at_settle.empty()) watcher.emit(std::exchange(watcher.at_settle, {}));
    }
    FakeWatcher& watcher;
  };
};

class FakeSupplies final : public dispatch::Supplies {
 public:
  explicit FakeSupplies(world::Loop& loop) : loop_(loop) {}
  void skill_bundle(const dispatch::SkillUse& skill, Callback<void(Result<std::string>)> done) override {
    ++asked;
    auto found = bundles.find(skill.name);
    Result<std::string> answer = Error{ErrorKind::not_found, "no such bundle"};
    if (found != bundles.end()) answer = found->second;
    loop_.defer([answer = std::move(answer), done = std::move(done)]() mutable { done(std::move(answer)); });
  }
  bool wants_assets() const override { return wants; }
  void file(const dispatch::FileUse& file, Callback<void(Result<std::string>)> done) override {
    auto found = files.find(file.name);
    Result<std::string> answer = Error{ErrorKind::not_found, "no such file"};
    if (found != files.end()) answer = found->second;
    loop_.defer([answer = std::move(answer), done = std::move(done)]() mutable { done(std::move(answer)); });
  }
  void take_assets(std::vector<dispatch::Asset> assets, std::string result,
                   Callback<void(Result<std::vector<dispatch::KeptAsset>>)> done) override {
    taken = std::move(assets);
    text = std::move(result);
    loop_.defer([this, done = std::move(done)]() mutable {
      if (take_fails) return done(Error{ErrorKind::unavailable, "the store is full"});
      std::vector<dispatch::KeptAsset> kept;
      for (const auto& asset : *taken) {
        kept.push_back({"fil_1", asset.name, static_cast<int64_t>(asset.bytes.size()), "ab"});
      }
      done(std::move(kept));
    });
  }

  std::map<std::string, std::string> bundles;
  std::map<std::string, std::string> files;
  int asked = 0;
  bool wants = false;
  bool take_fails = false;
  std::optional<std::vector<dispatch::Asset>> taken;
  std::string text;

 private:
  world::Loop& loop_;
};

class SessionTest : public RunnerTest {
 protected:
  SessionTest() {
    std::string pattern = testing::TempDir() + "handsXXXXXX";
    SLUICE_CHECK(mkdtemp(pattern.data()) != nullptr);
    home = pattern;
    options.sessions.state_dir = home + "/state";
    sandbox = std::make_unique<sandbox::FakeSandbox>(loop, home + "/boxes");
    sandbox->script = [this](sandbox::FakeBox& box, const sandbox::Command& command) { return respond(box, command); };
  }
  ~SessionTest() override {
    work.reset();
    runner.reset();
    loop.settle();
    EXPECT_EQ(watcher.watching, 0);
    EXPECT_TRUE(sandbox->boxes.empty());
    sandbox.reset();
    EXPECT_TRUE(workspace::remove_tree(home));
  }

  // The shim's tools that these tests need, done on the box's directories.
  sandbox::FakeResult respond(sandbox::FakeBox& box, const sandbox::Command& command) {
    const auto& argv = command.argv;
    if (argv[0] == "@read") {
      const auto path = box.workspace() + "/" + argv[1];
      if (!std::filesystem::exists(path)) {
        return {.err = argv[1] + ": no such file\n", .exit = {.cause = sandbox::ExitCause::exited, .code = 1}};
      }
      return {.out = contents(path)};
    }
    if (argv[0] == "@write") {
      for (const auto& tree : {box.workspace(), box.changes()}) put(tree + "/" + argv[1], command.input);
      return {.out = "wrote " + argv[1] + "\n"};
    }
    commands.push_back(command);
    return script ? script(box, command) : sandbox::FakeResult{};
  }

  static std::string contents(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static void put(const std::string& path, std::string_view bytes) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << bytes;
  }

  dispatch::Dispatch dispatch_of(std::string prompt) {
    auto dispatch = RunnerTest::dispatch_of(std::move(prompt));
    dispatch.run.ulid.bytes[15] = ++run_count;
    dispatch.conversation.ulid.bytes[15] = 1;
    dispatch.materials = materials;
    dispatch.supplies = supplies;
    dispatch.secrets = secrets;
    dispatch.may_ask = may_ask;
    dispatch.keeps_box = keeps_box;
    return dispatch;
  }
  void begin(dispatch::Dispatch dispatch) {
    if (!runner) {
      runner =
          make_native_runner(options, {client, loop, entropy, log, metrics, sandbox.get(), &watcher, &workers, egress});
    }
    last = dispatch;
    RunnerTest::begin(std::move(dispatch));
  }
  void begin(std::string prompt) { begin(dispatch_of(std::move(prompt))); }

  // How runs fail with this problem where the disk stops answering, wherever that is: each in other words.
  std::vector<std::string> fails_of_slow_disk(model::Slug slug) {
    std::vector<std::string> details;
    for (int answered = 0; answered < 12; ++answered) {
      heard = {};
      workers.answered_until_held = answered;
      begin("$ ls");
      pass(options.sessions.keep_ms_max);
      EXPECT_TRUE(heard.is_over()) << "after " << answered << " jobs of the workers";
      if (heard.problem && heard.problem->slug == slug) details.push_back(heard.problem->detail);
      work.reset();
      workers.release();
      loop.settle();
    }
    return details;
  }

  std::vector<std::string> steps() const { return heard.bodies(model::EventKind::step); }
  std::vector<std::string> phases() const {
    std::vector<std::string> found;
    for (const auto& body : heard.bodies(model::EventKind::log)) {
      const auto document = json::Document::parse(body);
      if (const auto phase = document.value().root().find("phase")) found.emplace_back(*phase->string());
    }
    return found;
  }
  std::vector<std::string> layers() const {
    std::vector<std::string> names;
    const auto where = home + "/state/workspaces/" + dispatch_conversation().text() + "/none";
    if (!std::filesystem::exists(where)) return names;
    for (const auto& entry : std::filesystem::directory_iterator(where)) names.push_back(entry.path().filename());
    std::ranges::sort(names);
    return names;
  }
  static model::ConversationId dispatch_conversation() {
    model::ConversationId id;
    id.ulid.bytes[15] = 1;
    return id;
  }
  sandbox::FakeBox& box() { return *sandbox->boxes.at(0); }

  std::string home;
  world::FakeWorkers workers{loop};
  FakeWatcher watcher;
  std::unique_ptr<sandbox::FakeSandbox> sandbox;
  std::shared_ptr<FakeSupplies> supplies = std::make_shared<FakeSupplies>(loop);
  dispatch::Materials materials;
  std::function<sandbox::FakeResult(sandbox::FakeBox&, const sandbox::Command&)> script;
  std::vector<sandbox::Command> commands;  // but for the shim's own
  uint8_t run_count = 0;

  std::shared_ptr<vault::Secrets> secrets;
  bool may_ask = false;
  bool keeps_box = false;
  egress::Egress* egress = nullptr;
  dispatch::Dispatch last;
};

}  // namespace sluice::runner
