// Work that a restarted server, or another runner, takes up again.
#include "base/limits.h"
#include "runner/runner_fixture.h"
#include "runs/runs.h"

namespace sluice::native {
namespace resume_test {

using namespace runner;

using model::EventKind;
using model::Slug;

class Resume : public RunnerTest {
 protected:
  void resume(std::string prompt, std::string told_text, std::string told_reasoning = "") {
    auto dispatch = dispatch_of(std::move(prompt));
    dispatch.resumed = true;
    dispatch.told_text = std::move(told_text);
    dispatch.told_reasoning = std::move(told_reasoning);
    heard = {};
    begin(std::move(dispatch));
  }
  // What the model was asked last: a turn a line.
  std::string asked() {
    const auto document = json::Document::parse(client.requests.back().body);
    std::string turns;
    document.value().root().find("messages")->each_element([&](json::Value turn) {
      turns.append(*turn.find("role")->string()).append(" ");
      turn.find("content")->each_element([&](json::Value part) { turns.append(*part.find("text")->string()); });
      turns += '\n';
    });
    return turns;
  }
};

constexpr const char* events = "think Hm, well.\nsay One two.\nsleep 50\nthink More.\nsay Three\ntokens 5";

TEST_F(Resume, Continues_after_every_byte_that_was_sent) {
  begin(events);
  pass(50);
  ASSERT_TRUE(heard.usage);
  const std::string text = heard.text();
  const std::string reasoning = heard.all(EventKind::reasoning);
  const auto usage = heard.usage;
  for (std::size_t sent = 0; sent <= text.size(); ++sent) {
    resume(events, text.substr(0, sent), reasoning);
    pass(50);
    EXPECT_EQ(text.substr(0, sent) + heard.text(), text);
    EXPECT_EQ(heard.all(EventKind::reasoning), "");
    EXPECT_EQ(heard.usage, usage);
  }
  for (std::size_t sent = 0; sent <= reasoning.size(); ++sent) {
    resume(events, "", reasoning.substr(0, sent));
    pass(50);
    EXPECT_EQ(heard.text(), text);
    EXPECT_EQ(reasoning.substr(0, sent) + heard.all(EventKind::reasoning), reasoning);
  }
}

TEST_F(Resume, Does_not_wait_again_for_what_was_sent) {
  resume("say One.\nsleep 60000\nsay Two.\nsleep 500\nsay Three.", "One.\nTwo.");
  EXPECT_FALSE(heard.is_over());
  pass(500);
  EXPECT_EQ(heard.text(), "\nThree.");
  EXPECT_TRUE(heard.usage);
}

TEST_F(Resume, Is_not_possible_past_a_tool_call) {
  resume("$ ls\nsay One.\n$ ls\nsay Two.", "One.");
  expect_problem(Slug::run_interrupted);
  EXPECT_TRUE(heard.events.empty()) << "what was done once is not done again";
}

TEST_F(Resume, Stops_when_the_model_does_not_say_the_same_again) {
  resume("say One.", "Two.");
  expect_problem(Slug::run_interrupted);
  resume("say One.", "One. And more.");
  expect_problem(Slug::run_interrupted);
  EXPECT_TRUE(heard.events.empty());
}

TEST_F(Resume, Is_possible_for_a_loop_of_ours_and_for_a_program_only_before_its_first_word) {
  begin("say x");
  EXPECT_TRUE(runner->can_resume(agent, "something"));
  EXPECT_FALSE(runner->reads_history(agent));
  use_provider();
  EXPECT_TRUE(runner->can_resume(agent, ""));
  EXPECT_TRUE(runner->can_resume(agent, "something"));
  EXPECT_TRUE(runner->reads_history(agent));
  agent.kit.agent_type = "codex";
  EXPECT_TRUE(runner->can_resume(agent, ""));
  EXPECT_FALSE(runner->can_resume(agent, "something"));
}

TEST_F(Resume, A_provider_that_had_said_nothing_is_asked_as_if_for_the_first_time) {
  use_provider();
  client.answer(answer_of(thought("Anew.") + said("Hello.") + stopped(1, 1)));
  resume("Hi.", "", "Old thoughts.");
  EXPECT_EQ(heard.text(), "Hello.");
  EXPECT_EQ(heard.all(EventKind::reasoning), "Anew.");
  EXPECT_EQ(asked(), "user Hi.\n");
}

TEST_F(Resume, A_provider_gets_what_it_had_said_and_says_the_rest) {
  use_provider();
  client.answer(answer_of(thought("Hm.") + said(" the rest.") + thought("So.") + stopped(1, 1)));
  resume("Hi.", "This is");
  EXPECT_EQ(heard.text(), " the rest.");
  EXPECT_EQ(heard.all(EventKind::reasoning), "So.") << "no thought parts the answer";
  EXPECT_TRUE(heard.usage);
  EXPECT_TRUE(asked().starts_with("user Hi.\nassistant This is\nuser Your answer was cut off")) << asked();
  EXPECT_EQ(heard.all(EventKind::filler), "");
}

TEST_F(Resume, White_space_that_the_provider_was_not_shown_is_not_said_twice) {
  use_provider();
  client.answer(answer_of(said(" ") + said("\\n  the rest. ") + said(" And more.") + stopped(1, 1)));
  resume("Hi.", "This is \n");
  EXPECT_EQ(heard.text(), "  the rest.  And more.");
  client.answer(answer_of(said("the rest.") + stopped(1, 1)));
  resume("Hi.", "This is ");
  EXPECT_EQ(heard.text(), "the rest.");
}

TEST_F(Resume, A_line_that_a_provider_continues_keeps_its_indentation) {
  use_provider();
  client.answer(answer_of(said("\\n    return 1") + stopped(1, 1)));
  resume("Hi.", "def f():\n");
  EXPECT_EQ(heard.text(), "    return 1");
  client.answer(answer_of(said("    return 1") + stopped(1, 1)));
  resume("Hi.", "def f():\n");
  EXPECT_EQ(heard.text(), "    return 1");
}

TEST_F(Resume, What_a_provider_says_after_a_call_of_a_tool_is_not_joined_to_what_it_had_said) {
  use_provider();
  client.answer(answer_of(called("nothing") + stopped(1, 1)));
  client.answer(answer_of(thought("So.") + said(" Done.") + stopped(1, 1)));
  resume("Hi.", "I look. ");
  EXPECT_EQ(heard.text(), " Done.");
  EXPECT_EQ(heard.all(EventKind::reasoning), "So.");
}

TEST_F(Resume, What_a_provider_had_said_is_no_turn_if_it_was_white_space) {
  use_provider();
  client.answer(answer_of(said("Hello.") + stopped(1, 1)));
  resume("Hi.", " \n");
  EXPECT_EQ(heard.text(), "Hello.");
  EXPECT_EQ(asked(), "user Hi.\n");
}

TEST_F(Resume, Text_that_was_sent_counts_against_how_long_an_answer_may_be) {
  use_provider();
  client.answer(answer_of(said("Hello.") + stopped(1, 1)));
  resume("Hi.", std::string(limits::answer_bytes_max - 5, 'x'));
  expect_problem(Slug::answer_too_large);
}

TEST_F(Resume, A_provider_that_cannot_go_on_at_once_is_asked_again) {
  use_provider();
  client.answer(net::FakeAnswer::whole(503, "{}"));
  client.answer(answer_of(said(" the rest.") + stopped(1, 1)));
  resume("Hi.", "This is");
  pass(60'000);
  EXPECT_EQ(heard.text(), " the rest.");
  EXPECT_EQ(client.requests.size(), 2u);
}

TEST_F(Resume, Brings_no_filler_once_something_was_sent) {
  options.filler = {.phrases = {"Well."}, .first_ms = 10};
  auto dispatch = dispatch_of("say One.\nsleep 1000\nsay Two.");
  dispatch.resumed = dispatch.filler = true;
  dispatch.told_text = "One.";
  begin(std::move(dispatch));
  pass(1'000);
  EXPECT_EQ(heard.text(), "\nTwo.");
  EXPECT_EQ(heard.all(EventKind::filler), "");
}

TEST(Replay, Lets_through_what_is_beyond_what_was_sent) {
  Replay replay("abc", "x");
  EXPECT_EQ(replay.text("ab"), "");
  EXPECT_FALSE(replay.is_over());
  EXPECT_EQ(replay.text("cd"), "d");
  EXPECT_FALSE(replay.is_over());
  EXPECT_EQ(replay.reasoning("x"), "");
  EXPECT_TRUE(replay.is_over());
  EXPECT_EQ(replay.text("ef"), "ef");
}

TEST(Replay, Notices_another_story) {
  Replay replay("abc", "");
  EXPECT_EQ(replay.text("ax"), std::nullopt);
}

}  // namespace resume_test
}  // namespace sluice::native
