#include "upkeep/journal_check.h"

#include <gtest/gtest.h>

namespace sluice::upkeep {
namespace journal_check_test {

using enum model::EventKind;
using model::RunState;

std::vector<model::RunEvent> events(std::initializer_list<model::EventKind> kinds) {
  std::vector<model::RunEvent> made;
  for (const auto kind : kinds) made.push_back({kind, {1000}, kind == text ? "word " : ""});
  return made;
}

std::string fault_of(std::initializer_list<model::EventKind> kinds, RunState state = RunState::completed) {
  JournalCheck check;
  check.take(kinds.size(), model::encode_batch(events(kinds)));
  check.end(state, kinds.size());
  return check.fault();
}

TEST(JournalCheck, Journals_as_runs_write_them_are_fine) {
  EXPECT_EQ(fault_of({accepted, started, text, mark, text, completed}), "");
  EXPECT_EQ(fault_of({accepted, queued, queued, started, text, failed}, RunState::failed), "");
  EXPECT_EQ(fault_of({accepted, queued, cancelled}, RunState::cancelled), "");
  EXPECT_EQ(fault_of({accepted, started, checkpoint, gate, resumed, checkpoint, text, completed}), "");
  EXPECT_EQ(fault_of({accepted, started, gate, failed}, RunState::failed), "");
  EXPECT_EQ(fault_of({accepted, started, text}, RunState::streaming), "");
}

TEST(JournalCheck, Each_rule_of_the_grammar_is_held) {
  EXPECT_NE(fault_of({started, text, completed}), "");
  EXPECT_NE(fault_of({accepted, accepted, started, completed}), "");
  EXPECT_NE(fault_of({accepted, text, completed}), "");
  EXPECT_NE(fault_of({accepted, started, started, completed}), "");
  EXPECT_NE(fault_of({accepted, started, queued, completed}), "");
  EXPECT_NE(fault_of({accepted, started, completed, text}), "");
  EXPECT_NE(fault_of({accepted, started, completed, completed}), "");
  EXPECT_NE(fault_of({accepted, started, resumed, completed}), "");
  EXPECT_NE(fault_of({accepted, started, gate, gate, failed}, RunState::failed), "");
}

TEST(JournalCheck, The_end_is_what_the_runs_row_says) {
  EXPECT_NE(fault_of({accepted, started, text}), "");
  EXPECT_NE(fault_of({accepted, started, completed}, RunState::failed), "");
  EXPECT_NE(fault_of({accepted, started, completed}, RunState::streaming), "");
}

TEST(JournalCheck, Positions_have_no_gaps_and_the_head_is_the_last) {
  JournalCheck check;
  EXPECT_TRUE(check.take(2, model::encode_batch(events({accepted, started}))));
  EXPECT_FALSE(check.take(4, model::encode_batch(events({text}))));
  EXPECT_NE(check.fault().find("after event 2"), std::string::npos);
  JournalCheck short_of_head;
  short_of_head.take(2, model::encode_batch(events({accepted, started})));
  short_of_head.end(RunState::streaming, 3);
  EXPECT_NE(short_of_head.fault(), "");
  JournalCheck empty;
  empty.end(RunState::streaming, 0);
  EXPECT_EQ(empty.fault(), "it has no events");
}

TEST(JournalCheck, Bytes_that_are_no_batch_are_named_by_their_place) {
  JournalCheck check;
  EXPECT_FALSE(check.take(1, "\1\3"));
  EXPECT_EQ(check.fault(), "the row after event 0 is not a batch of events");
}

TEST(JournalCheck, Bodies_are_of_their_kind) {
  for (const auto kind : {text, log, accepted}) {
    auto written = events({accepted, started, text, log});
    for (auto& event : written) {
      if (event.kind == kind) event.body = "\xff";
    }
    JournalCheck check;
    EXPECT_FALSE(check.take(4, model::encode_batch(written)));
  }
}

TEST(JournalCheck, It_says_what_the_message_is) {
  JournalCheck check;
  auto written = events({accepted, started, text, text, replaced, text, completed});
  written[4].body = R"({"kept_bytes":5})";
  written[6].body = "{}";
  check.take(7, model::encode_batch(written));
  EXPECT_EQ(check.text(), "word word ");
  EXPECT_EQ(check.completed_body(), "{}");
}

}  // namespace journal_check_test
}  // namespace sluice::upkeep
