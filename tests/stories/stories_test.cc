#include <gtest/gtest.h>

#include "tests/stories/story_world.h"

namespace sluice::stories {
namespace stories_test {

TEST(Stories, A_message_is_answered_I_1) {
  tell(
      [](StoryWorld& w) {
        w.ana_sends("say Hello dear friend");
        w.ana_reads_to_the_end();
      },
      "start\n"
      "delta \"Hello \"\n"
      "delta \"dear \"\n"
      "delta \"friend\"\n"
      "end \"Hello dear friend\"\n");
}

TEST(Stories, A_slow_answer_outlives_the_server_that_began_it_I_8) {
  tell(
      [](StoryWorld& w) {
        w.ana_sends("think Let me see\ntokens 4 10");
        w.ana_reads_to_the_end();
      },
      "start\n"
      "delta \"w1 \"\n"
      "delta \"w2 \"\n"
      "delta \"w3 \"\n"
      "delta \"w4\"\n"
      "end \"w1 w2 w3 w4\"\n");
}

TEST(Stories, A_reader_who_leaves_finds_everything_on_her_return_I_8) {
  tell(
      [](StoryWorld& w) {
        w.ana_sends("tokens 3 5");
        w.ana_reads_lines(2);
        w.ana_leaves();
        w.ana_reads_to_the_end_later();
      },
      "start\n"
      "delta \"w1 \"\n"
      "delta \"w2 \"\n"
      "delta \"w3\"\n"
      "end \"w1 w2 w3\"\n");
}

TEST(Stories, A_model_that_fails_ends_in_an_error_and_the_next_message_is_answered_I_4) {
  tell(
      [](StoryWorld& w) {
        w.ana_sends("say Well\nfail 400 no such luck");
        w.ana_reads_to_the_end();
        EXPECT_EQ(w.ana_has_read(), "start\ndelta \"Well\"\nerror model-stream-cut\n");
        w.ana_sends("say Better");
        w.ana_reads_to_the_end();
      },
      "start\n"
      "delta \"Better\"\n"
      "end \"Better\"\n");
}

TEST(Stories, A_cancelled_run_ends_once_and_leaves_its_conversation_free) {
  tell(
      [](StoryWorld& w) {
        w.ana_sends("say First\nhang");
        w.ana_reads_lines(2);
        w.ana_cancels();
        w.ana_reads_to_the_end();
      },
      "start\n"
      "delta \"First\"\n"
      "error run-cancelled\n");
}

TEST(Stories, Three_messages_follow_each_other) {
  tell(
      [](StoryWorld& w) {
        for (const char* words : {"say one", "say two", "say three"}) {
          w.ana_sends(words);
          w.ana_reads_to_the_end();
        }
      },
      "start\n"
      "delta \"three\"\n"
      "end \"three\"\n");
}

}  // namespace stories_test
}  // namespace sluice::stories
