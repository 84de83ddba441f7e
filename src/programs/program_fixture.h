// An agent program that says what its test tells it to, in boxes that are not there.
//
//   begin("hello");
//   say({{.kind = Heard::Kind::text, .text = "Hi."}, {.kind = Heard::Kind::finished}});
//   end_program();
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "programs/program_work.h"
#include "runner/gate_fixture.h"
#include "sessions/sessions.h"

namespace sluice::programs {

using namespace runner;

// What one process of the program was given and answered; the test says what it says.
struct FakeTalk {
  harness::Assignment assignment;
  std::vector<harness::Heard> next;    // what the next bytes mean
  std::vector<harness::Heard> at_end;  // what the end of its output means
  std::vector<std::string> answers;    // "allow 1", "deny 2: words", "result 3: text"
  std::string exit_words, stderr_tail;
};

class FakeDialect final : public harness::Dialect {
 public:
  explicit FakeDialect(std::shared_ptr<FakeTalk> talk) : talk_(std::move(talk)) {}
  std::string opening() override { return "open " + talk_->assignment.prompt + "\n"; }
  std::vector<harness::Heard> feed(std::string_view) override { return std::exchange(talk_->next, {}); }
  std::vector<harness::Heard> end(std::string_view exit_words, std::string_view stderr_tail) override {
    talk_->exit_words = exit_words;
    talk_->stderr_tail = stderr_tail;
    return std::exchange(talk_->at_end, {});
  }
  std::string take_output() override { return std::exchange(output_, {}); }
  bool is_done_writing() const override { return false; }
  void answer(uint64_t question, const harness::Answer& answer) override {
    constexpr std::string_view names[] = {"allow", "deny", "defer", "result"};
    auto words = std::string(names[static_cast<std::size_t>(answer.kind)]) + " " + std::to_string(question);
    if (!answer.text.empty()) words += (answer.failed ? " failed: " : ": ") + answer.text;
    output_ += words + "\n";
    talk_->answers.push_back(std::move(words));
  }
  void interrupt() override {}

 private:
  const std::shared_ptr<FakeTalk> talk_;  // shared with the test, which looks at it afterwards
  std::string output_;
};

class ProgramStory : public GateStory {
 protected:
  using Heard = harness::Heard;

  ProgramStory() {
    agent.kit.agent_type = "codex";
    options.programs.find = [this](const std::string& type) -> std::optional<ProgramOptions::Place> {
      if (type != "codex" || !is_installed) return std::nullopt;
      return ProgramOptions::Place{"/opt/harness/codex/bin/codex", home + "/codex"};
    };
    use_provider();
    agent.limits.max_runtime_seconds = 3'600;
    script = [](sandbox::FakeBox&, const sandbox::Command& command) {
      return sandbox::FakeResult{.hangs = command.keeps_input};
    };
  }
  ~ProgramStory() override {
    work.reset();
    context.reset();
    loop.settle();
  }

  void make_context() {
    if (context) return;
    auto owned = std::make_shared<Owned>(*this);
    program_options = &owned->options.programs;
    context = {owned, &owned->shared};
  }
  void begin(dispatch::Dispatch dispatch) {
    make_context();
    last = dispatch;
    ProgramMakers makers;
    makers.plan = [this](const harness::Assignment& assignment) -> Result<harness::Launch> {
      if (!plan_fails_with.empty()) return Error{ErrorKind::invalid, plan_fails_with};
      return harness::Launch{.argv = {assignment.program, "serve"},
                             .environment = {{"KEY", assignment.model.key}},
                             .files = {{"/workspace/.sluice/home/config", "of " + assignment.agent_type}}};
    };
    makers.dialect = [this](const harness::Assignment& assignment) {
      talks.push_back(std::make_shared<FakeTalk>());
      talks.back()->assignment = assignment;
      return std::make_unique<FakeDialect>(talks.back());
    };
    makers.can_defer = [this](std::string_view) { return defers; };
    work = std::make_unique<ProgramWork>(context, *program_options, std::move(dispatch), heard, std::move(makers));
    loop.settle();
  }
  void begin(std::string prompt) { begin(dispatch_of(std::move(prompt))); }

  // ── what the program does ──
  FakeTalk& talk() { return *talks.back(); }
  // It is kept while it speaks: what it says may end its box.
  std::shared_ptr<sandbox::FakeProcess::State> keep_process() {
    for (auto* const box : sandbox->boxes) {
      for (auto command = box->commands.rbegin(); command != box->commands.rend(); ++command) {
        if ((*command)->command.keeps_input) return *command;
      }
    }
    SLUICE_CHECK(false);
  }
  sandbox::FakeProcess::State& process() { return *keep_process(); }
  bool has_process() const {
    for (const auto* const box : sandbox->boxes) {
      for (const auto& command : box->commands) {
        if (command->command.keeps_input && !command->ended && !command->dropped) return true;
      }
    }
    return false;
  }
  void say(std::vector<Heard> what) {
    talk().next = std::move(what);
    const auto kept = keep_process();
    sandbox::FakeProcess::say(*kept, sandbox::Stream::out, "…");
    loop.settle();
  }
  void end_program(sandbox::Exit exit = {}) {
    const auto kept = keep_process();
    sandbox::FakeProcess::end(*kept, std::move(exit));
    loop.settle();
  }
  void finish() {
    say({{.kind = Heard::Kind::finished}});
    end_program();
  }
  static Heard text(std::string words) { return {.kind = Heard::Kind::text, .text = std::move(words)}; }
  static Heard session(std::string id) { return {.kind = Heard::Kind::session, .text = std::move(id)}; }
  static harness::ProgramCall call(std::string id, std::string name, std::string arguments) {
    return {std::move(id), std::move(name), std::move(arguments)};
  }
  static Heard running(harness::ProgramCall what) {
    return {.kind = Heard::Kind::call_running, .call = std::move(what)};
  }
  static Heard ended(std::string id, std::string result) {
    return {.kind = Heard::Kind::call_ended, .text = std::move(result), .call = {.id = std::move(id)}};
  }
  static Heard permission(uint64_t question, harness::ProgramCall what) {
    return {.kind = Heard::Kind::permission, .call = std::move(what), .question = question};
  }
  static Heard host_call(uint64_t question, harness::ProgramCall what) {
    return {.kind = Heard::Kind::host_call, .call = std::move(what), .question = question};
  }

  // The words of the warnings that were reported.
  std::vector<std::string> warnings() const {
    std::vector<std::string> words;
    for (const auto& body : heard.bodies(model::EventKind::log)) {
      const auto document = json::Document::parse(body);
      const auto level = document.value().root().find("level");
      if (level && level->string() == "warn") words.emplace_back(*document.value().root().find("text")->string());
    }
    return words;
  }

  // A human agrees; the client has carried out what was asked of it.
  void approve(std::vector<model::ClientResult> results = {}) {
    ASSERT_TRUE(heard.gate);
    const auto gate = *std::exchange(heard.gate, std::nullopt);
    EXPECT_EQ(gate.keeps_box, keeps_box);
    if (gate.keeps_box) {
      work->go_on(std::move(results));
      return loop.settle();
    }
    EXPECT_TRUE(sandbox->boxes.empty()) << "a parked run has no box";
    expect_nothing_left();
    go_on_from(gate.checkpoint, std::move(results));
  }
  void go_on_from(std::string checkpoint, std::vector<model::ClientResult> results = {}) {
    work.reset();
    loop.settle();
    auto dispatch = last;
    dispatch.checkpoint = std::move(checkpoint);
    dispatch.results = std::move(results);
    begin(std::move(dispatch));
  }

  // What a runner would own.
  struct Owned {
    explicit Owned(ProgramStory& story)
        : options(story.options),
          providers(options, story.metrics),
          shared{.inference = {options, providers, story.loop, story.client},
                 .sessions = {.options = options.sessions,
                              .loop = story.loop,
                              .log = story.log,
                              .sandbox = story.has_sandbox ? story.sandbox.get() : nullptr,
                              .watcher = story.has_sandbox ? &story.watcher : nullptr,
                              .workers = story.has_sandbox ? &story.workers : nullptr,
                              .egress = story.egress,
                              .kept_sandboxes = &kept_sandboxes,
                              .serve_bridge = story.serve_bridge},
                 .tools = {options, options.sessions, sign_webhook, story.loop, story.loop, story.client},
                 .entropy = story.entropy,
                 .log = story.log} {}

    const RunnerOptions options;
    const Providers providers;
    KeptSandboxes kept_sandboxes;
    const SignWebhook sign_webhook;
    const agents::Shared shared;
  };

  std::shared_ptr<const agents::Shared> context;
  const ProgramOptions* program_options = nullptr;  // as old as the context
  std::vector<std::shared_ptr<FakeTalk>> talks;     // one for each process
  std::string plan_fails_with;
  ServeBridge serve_bridge;
  bool defers = false;
  bool has_sandbox = true;
  bool is_installed = true;
};

class ProgramGateTest : public ProgramStory, public testing::WithParamInterface<Placement> {
 protected:
  ProgramGateTest() { keeps_box = GetParam() == Placement::sticky; }
};

}  // namespace sluice::programs
