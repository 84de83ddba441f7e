// The value of a secret is in nothing that is reported, shown or returned: I-17.
#include "runner/gate_fixture.h"
#include "sessions/sessions.h"

namespace sluice::runner {
namespace scrubbing_test {

using model::EventKind;
using model::Slug;
using sandbox::FakeResult;
using Bodies = std::vector<std::string>;

constexpr std::string_view value = "hunter2-hunter2";

class Scrubbing : public GateStory {
 protected:
  Scrubbing() { secrets->replace({{.alias = "TOKEN", .value = std::string(value)}}); }
  void expect_clean() {
    for (const auto& event : heard.events) {
      EXPECT_EQ(event.body.find(value), std::string::npos) << name_of(event.kind) << " " << event.body;
    }
    if (heard.problem) EXPECT_EQ(heard.problem->detail.find(value), std::string::npos) << heard.problem->detail;
  }
};

TEST_F(Scrubbing, I_17_Text_and_reasoning_are_clean_also_across_words) {
  secrets->replace({{.alias = "TOKEN", .value = "correct horse"}});
  begin("think The correct horse.\nsay It is the correct horse, you know.\n$ ls\nsay correct");
  EXPECT_EQ(heard.all(EventKind::reasoning), "The {{secret:TOKEN}}.");
  EXPECT_EQ(heard.text(), "It is the {{secret:TOKEN}}, you know.\ncorrect");
  const auto last = std::ranges::find(heard.events, EventKind::step, &model::RunEvent::kind);
  EXPECT_EQ(std::prev(last)->kind, EventKind::usage) << "what was held back is reported before what comes after it";
}

TEST_F(Scrubbing, I_17_What_commands_print_is_clean_however_it_is_cut) {
  script = [](auto&, auto&) { return FakeResult{.hangs = true}; };
  begin("$ echo hunter2-hunter2\nsay {{last}}");
  for (const char* piece : {"a hun", "ter2-hu", "nter2 b", " hunter"}) {
    box().say(box().commands.size() - 1, sandbox::Stream::out, piece);
    loop.settle();
  }
  box().end(box().commands.size() - 1, {});
  loop.settle();
  std::string text;
  for (const auto& body : heard.bodies(EventKind::output)) {
    const auto document = json::Document::parse(body);
    text += *document.value().root().find("text")->string();
  }
  EXPECT_EQ(text, "a {{secret:TOKEN}} b hunter");
  EXPECT_EQ(heard.text(), "a {{secret:TOKEN}} b hunter");
  expect_clean();
}

TEST_F(Scrubbing, I_17_Steps_files_diffs_and_what_is_handed_back_are_clean) {
  supplies->wants = true;
  watcher.at_settle = {{workspace::FileNews::Kind::created, "hunter2-hunter2.txt"}};
  begin("write assets/hunter2-hunter2.txt: it is hunter2-hunter2\nsay hunter2-hunter2");
  ASSERT_TRUE(heard.usage);
  expect_clean();
  EXPECT_NE(heard.all(EventKind::diff).find("+it is {{secret:TOKEN}}"), std::string::npos);
  ASSERT_EQ(supplies->taken->size(), 1u);
  EXPECT_EQ(supplies->taken->at(0).bytes, "it is {{secret:TOKEN}}");
  EXPECT_EQ(supplies->taken->at(0).name.find(value), std::string::npos);
  EXPECT_EQ(supplies->text, "{{secret:TOKEN}}");
  heard = {};
  begin("write other.txt: now hunter2-hunter2");
  EXPECT_NE(heard.all(EventKind::custom).find("+now {{secret:TOKEN}}"), std::string::npos) << "the run's own diff";
  expect_clean();
}

TEST_F(Scrubbing, I_17_Gates_checkpoints_and_problems_are_clean) {
  begin("ask Send hunter2-hunter2?\nfail 400 hunter2-hunter2");
  ASSERT_TRUE(heard.gate);
  EXPECT_EQ(heard.gate->reason, "Send {{secret:TOKEN}}?");
  EXPECT_EQ(heard.gate->items[0].description, "Send {{secret:TOKEN}}?");
  EXPECT_EQ(heard.gate->checkpoint.find(value), std::string::npos);
  approve();
  ASSERT_TRUE(heard.problem);
  EXPECT_NE(heard.problem->detail.find("{{secret:TOKEN}}"), std::string::npos);
  expect_clean();
}

TEST_F(Scrubbing, I_17_What_the_model_is_shown_is_clean) {
  use_provider();
  sandbox->script = [this](auto& box, const auto& command) {
    put(box.workspace() + "/AGENTS.md", "Use hunter2-hunter2.");
    return respond(box, command);
  };
  materials.setup_script = "true";
  client.answer(answer_of(called("list") + stopped(1, 1)));
  client.answer(answer_of(said("Yes.") + stopped(1, 1)));
  script = [](auto&, auto&) { return FakeResult{.out = "hunter2-hunter2\n"}; };
  begin("Hi.");
  pass(0);
  ASSERT_EQ(client.requests.size(), 2u);
  for (const auto& request : client.requests) EXPECT_EQ(request.body.find(value), std::string::npos);
  EXPECT_NE(client.requests[1].body.find("Use {{secret:TOKEN}}."), std::string::npos);
}

TEST_F(Scrubbing, A_value_that_reads_like_JSON_breaks_no_event) {
  secrets->replace(
      {{.alias = "NUMBER", .value = "1234"}, {.alias = "WORD", .value = "true"}, {.alias = "NAME", .value = "step"}});
  begin("call grep {\"pattern\":\"1234\",\"ignore_case\":true}\ncall bash {\"command\":\"x\",\"timeout_ms\":1234}");
  for (const auto& event : heard.events) {
    if (event.kind == EventKind::text) continue;
    EXPECT_TRUE(json::Document::parse(event.body)) << event.body;
  }
  EXPECT_EQ(heard.all(EventKind::step).find("1234"), std::string::npos) << heard.all(EventKind::step);
}

// ── the model's own key, and the repository's ──

TEST_F(Scrubbing, A_model_is_asked_with_the_agent_s_own_key) {
  options.providers["anthropic"].api_key = "";
  use_provider();
  agent.model.key_alias = "TOKEN";
  client.answer(answer_of(said("Yes.") + stopped(1, 1)));
  begin("Hi.");
  pass(0);
  ASSERT_EQ(client.requests.size(), 1u);
  EXPECT_EQ(client.requests[0].headers.find("x-api-key"), value);
  EXPECT_TRUE(heard.usage);
}

TEST_F(Scrubbing, A_key_that_is_not_on_file_or_bound_elsewhere_is_said_so) {
  use_provider();
  agent.model.key_alias = "OTHER";
  begin("Hi.");
  expect_problem(Slug::agent_misconfigured, "model key \"OTHER\" is not on file");
  heard = {};
  secrets->replace({{.alias = "OTHER", .value = std::string(value), .hosts = {"models.example"}}});
  begin("Hi.");
  expect_problem(Slug::agent_misconfigured, "is bound to other hosts than api.anthropic.com");
  EXPECT_TRUE(client.requests.empty());
}

}  // namespace scrubbing_test
}  // namespace sluice::runner
