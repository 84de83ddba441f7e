// I-11: filler bridges the time before the first real word, and nothing else.
#include "runner/runner_fixture.h"

namespace sluice::inference {
namespace filler_test {

using namespace runner;

using model::EventKind;
using net::FakeAnswer;
using Words = std::vector<std::string>;

class Filler : public RunnerTest {
 protected:
  Filler() {
    options.filler = {.phrases = {"One moment…", "Still there. "}, .first_ms = 400, .every_ms = 4'000, .count_max = 3};
  }
  void begin_with_filler(std::string prompt) {
    auto dispatch = dispatch_of(std::move(prompt));
    dispatch.filler = true;
    begin(std::move(dispatch));
  }
  void use_small_model() {
    options.filler.model_provider = "anthropic";
    options.filler.model_name = "tiny";
  }
  Words fillers() const { return heard.bodies(EventKind::filler); }
};

TEST_F(Filler, Comes_after_some_silence_then_from_time_to_time_and_not_for_ever) {
  begin_with_filler("sleep 60000\nsay Here.");
  pass(399);
  EXPECT_EQ(fillers(), Words{});
  pass(1);
  EXPECT_EQ(fillers(), (Words{"One moment… "}));
  pass(3'999);
  EXPECT_EQ(fillers().size(), 1u);
  pass(1);
  EXPECT_EQ(fillers(), (Words{"One moment… ", "Still there. "}));
  pass(55'600);
  EXPECT_EQ(fillers(), (Words{"One moment… ", "Still there. ", "One moment… "}));
  EXPECT_EQ(heard.text(), "Here.");
}

TEST_F(Filler, Is_over_for_good_with_the_first_real_word) {
  begin_with_filler("sleep 300\nsay Here.\nsleep 60000\nsay There.");
  pass(70'000);
  EXPECT_EQ(fillers(), Words{});
  EXPECT_EQ(heard.text(), "Here.\nThere.");
}

TEST_F(Filler, Continues_while_the_model_only_thinks) {
  begin_with_filler("think Hm.\nsleep 500\nsay Here.");
  pass(500);
  EXPECT_EQ(fillers(), (Words{"One moment… "}));
}

TEST_F(Filler, Is_not_sent_unless_asked_for) {
  begin("sleep 60000\nsay Here.");
  pass(60'000);
  EXPECT_EQ(fillers(), Words{});
}

TEST_F(Filler, Ends_with_the_work) {
  begin_with_filler("sleep 60000\nsay Here.");
  heard.after_event = [this] { work.reset(); };
  pass(60'000);
  EXPECT_EQ(fillers().size(), 1u);
  expect_nothing_left();
}

TEST_F(Filler, Does_not_follow_the_end) {
  begin_with_filler("sleep 100\nfail 400 no");
  pass(60'000);
  EXPECT_TRUE(heard.problem);
  EXPECT_EQ(fillers(), Words{});
  expect_nothing_left();
}

TEST_F(Filler, Ends_with_the_work_also_when_its_small_model_fails) {
  use_small_model();
  client.answer(FakeAnswer::connection_refused());
  begin_with_filler("sleep 60000\nsay Here.");
  heard.after_event = [this] { work.reset(); };
  pass(60'000);
  EXPECT_EQ(heard.events.size(), 1u);
  EXPECT_EQ(fillers(), Words{});
  expect_nothing_left();
}

TEST_F(Filler, Can_be_made_by_a_small_model) {
  use_small_model();
  client.answer(answer_of(said("Let me ") + said("look.") + stopped(5, 4)));
  begin_with_filler("sleep 1000\nsay Here.");
  pass(400);
  EXPECT_EQ(fillers(), (Words{"Let me ", "look.", " "}));
  ASSERT_EQ(client.requests.size(), 1u);
  EXPECT_NE(client.requests[0].body.find("\"tiny\""), std::string::npos);
  EXPECT_NE(client.requests[0].body.find("\"max_tokens\":40"), std::string::npos);
  pass(600);
  EXPECT_EQ(heard.text(), "Here.");
  ASSERT_TRUE(heard.usage);
  EXPECT_EQ(heard.usage->input_tokens, 4) << "what filler costs is not the answer's";
  EXPECT_EQ(figure(R"(sluice_model_tokens_total{provider="anthropic",direction="output"})"), 4);
  expect_nothing_left();
}

TEST_F(Filler, Falls_back_to_phrases_when_the_small_model_fails) {
  for (const auto& answer : {FakeAnswer::connection_refused(), FakeAnswer::whole(500, "no"), FakeAnswer().head(200)}) {
    heard = {};
    client.requests.clear();
    use_small_model();
    client.answer(answer);
    begin_with_filler("sleep 30000\nsay Here.");
    pass(30'000);
    EXPECT_GE(fillers().size(), 2u);
    EXPECT_EQ(fillers()[0], "One moment… ");
    EXPECT_EQ(heard.bodies(EventKind::log).size(), 1u);
    EXPECT_EQ(client.requests.size(), 1u) << "it is not asked again";
    EXPECT_TRUE(heard.usage);
  }
}

TEST_F(Filler, Without_a_usable_small_model_is_phrases) {
  options.filler.model_provider = "nowhere";
  begin_with_filler("sleep 1000\nsay Here.");
  pass(1'000);
  EXPECT_EQ(fillers(), (Words{"One moment… "}));
  EXPECT_TRUE(heard.usage);
}

TEST_F(Filler, Does_not_stick_to_the_answer_that_interrupts_it) {
  use_small_model();
  client.answer(FakeAnswer().head(200).piece(said("Let me")).wait(5'000).piece(said(" look.")));
  begin_with_filler("sleep 1000\nsay Here.");
  pass(60'000);
  EXPECT_EQ(fillers(), (Words{"Let me", " "}));
  EXPECT_EQ(heard.events.back().body, "Here.");
  expect_nothing_left();
}

TEST_F(Filler, Cuts_a_small_model_that_does_not_stop) {
  use_small_model();
  FakeAnswer endless;
  endless.head(200);
  for (int i = 0; i < 100; ++i) endless.piece(said("and so on "));
  client.answer(endless);
  begin_with_filler("sleep 1000\nsay Here.");
  pass(1'000);
  EXPECT_LE(heard.all(EventKind::filler).size(), 401u);
  EXPECT_EQ(heard.text(), "Here.");
}

}  // namespace filler_test
}  // namespace sluice::inference
