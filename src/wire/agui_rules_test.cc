#include "wire/agui_rules.h"

#include <gtest/gtest.h>

#include <string>

#include "wire/agui_writer.h"

namespace sluice::wire {
namespace agui_rules_test {

using T = AguiType;

// What the rules say to the last of `events`; the ones before must pass.
std::string last_of(const std::vector<AguiEvent>& events, AguiPeer peer = AguiPeer::current) {
  AguiRules rules(peer);
  std::string fault;
  for (const auto& event : events) {
    EXPECT_EQ(fault, "");
    fault = rules.admit(event);
  }
  return fault;
}

TEST(AguiRules, A_run_begins_once_ends_once_and_nothing_is_outside_of_it) {
  EXPECT_EQ(last_of({{T::custom, "x"}}), "comes outside of a run");
  EXPECT_EQ(last_of({{T::run_error, "r"}}), "");
  EXPECT_EQ(last_of({{T::run_started, "r"}, {T::run_started, "r"}}), "comes while a run is open");
  EXPECT_EQ(last_of({{T::run_started, "r"}, {T::run_finished, "r"}}), "");
  EXPECT_EQ(last_of({{T::run_started, "r"}, {T::run_finished, "s"}}), "ends another run than began");
  EXPECT_EQ(last_of({{T::run_started, "r"}, {T::run_finished, "r"}, {T::run_finished, "r"}}), "comes outside of a run");
  EXPECT_EQ(last_of({{T::run_started, "r"}, {T::run_finished, "r"}, {T::custom, "x"}}), "comes outside of a run");
  EXPECT_EQ(last_of({{T::run_started, "r"}, {T::run_finished, "r"}, {T::run_error, "r"}}), "");
  EXPECT_EQ(last_of({{T::run_error, "r"}, {T::run_error, "r"}}), "comes after the end");
  EXPECT_EQ(last_of({{T::run_started, "r"}, {T::run_finished, "r"}, {T::run_started, "s"}}), "");
}

TEST(AguiRules, Whatever_is_opened_is_opened_once_and_closed_before_the_end) {
  const std::vector<std::pair<T, T>> pairs = {{T::text_start, T::text_end},
                                              {T::call_start, T::call_end},
                                              {T::reasoning_start, T::reasoning_end},
                                              {T::reasoning_message_start, T::reasoning_message_end},
                                              {T::step_started, T::step_finished},
                                              {T::subagent_started, T::subagent_finished},
                                              {T::subagent_started, T::subagent_error}};
  for (const auto& [open, close] : pairs) {
    EXPECT_EQ(last_of({{T::run_started, "r"}, {open, "a"}, {open, "a"}}), "begins what is open");
    EXPECT_EQ(last_of({{T::run_started, "r"}, {close, "a"}}), "ends what is not open");
    EXPECT_EQ(last_of({{T::run_started, "r"}, {open, ""}}), "has no name");
    EXPECT_EQ(last_of({{T::run_started, "r"}, {open, "a"}, {T::run_finished, "r"}}), "comes while something is open");
    EXPECT_EQ(last_of({{T::run_started, "r"}, {open, "a"}, {T::run_error, "r"}}), "");
    EXPECT_EQ(last_of({{T::run_started, "r"}, {open, "a"}, {close, "a"}, {T::run_finished, "r"}}), "");
  }
}

TEST(AguiRules, Only_what_is_open_goes_on_and_a_closed_text_may_be_opened_again) {
  for (const auto type : {T::text_content, T::call_args, T::reasoning_message_content}) {
    EXPECT_EQ(last_of({{T::run_started, "r"}, {type, "a"}}), "continues what is not open");
  }
  EXPECT_EQ(last_of({{T::run_started, "r"}, {T::reasoning_start, "a"}, {T::reasoning_message_content, "a"}}),
            "continues what is not open");
  EXPECT_EQ(last_of({{T::run_started, "r"}, {T::text_start, "a"}, {T::text_content, "a"}}), "");
  EXPECT_EQ(last_of({{T::run_started, "r"}, {T::text_start, "a"}, {T::text_end, "a"}, {T::text_content, "a"}}),
            "continues what is not open");
  EXPECT_EQ(last_of({{T::run_started, "r"}, {T::text_start, "a"}, {T::text_end, "a"}, {T::text_start, "a"}}), "");
}

TEST(AguiRules, A_result_answers_a_call_that_is_over_once) {
  EXPECT_EQ(last_of({{T::run_started, "r"}, {T::call_result, "c"}}), "answers a call that was not made");
  EXPECT_EQ(last_of({{T::run_started, "r"}, {T::call_start, "c"}, {T::call_result, "c"}}),
            "answers a call that is not over");
  EXPECT_EQ(last_of({{T::run_started, "r"}, {T::call_start, "c"}, {T::call_end, "c"}, {T::call_result, "c"}}), "");
  EXPECT_EQ(last_of({{T::run_started, "r"},
                     {T::call_start, "c"},
                     {T::call_end, "c"},
                     {T::call_result, "c"},
                     {T::call_result, "c"}}),
            "answers a call again");
  AguiRules rules(AguiPeer::current);
  rules.know_call("before");
  EXPECT_EQ(rules.admit({T::run_started, "r"}), "");
  EXPECT_EQ(rules.admit_pending("before"), "");
  EXPECT_NE(rules.admit_pending("never"), "");
  EXPECT_EQ(rules.admit({T::call_result, "before"}), "");
  EXPECT_NE(rules.admit_pending("before"), "");
}

TEST(AguiRules, Subagents_are_once_and_what_is_theirs_stays_theirs) {
  const AguiEvent started{T::run_started, "r"};
  const AguiEvent one{T::subagent_started, "one"};
  EXPECT_EQ(last_of({started, {T::text_start, "a", "one"}}), "is of a subagent that does not work");
  EXPECT_EQ(last_of({started, one, {T::subagent_finished, "one"}, one}), "begins a subagent that has been");
  EXPECT_EQ(last_of({started, one, {T::text_start, "a", "one"}, {T::text_content, "a"}}),
            "continues what is another's");
  EXPECT_EQ(last_of({started, one, {T::text_start, "a", "one"}, {T::text_end, "a"}}), "ends what is another's");
  EXPECT_EQ(last_of({started, one, {T::text_start, "a", "one"}, {T::subagent_finished, "one"}}),
            "ends a subagent that has something open");
  EXPECT_EQ(last_of({started, one, {T::text_start, "a", "one"}, {T::call_start, "c", "", "a"}}),
            "is part of another's message");
  EXPECT_EQ(last_of({started, one, {T::step_started, "s"}, {T::step_started, "s", "one"}}), "");
  for (const auto peer : {AguiPeer::old, AguiPeer::tanstack}) {
    EXPECT_EQ(last_of({started, one}, peer), "tells of a subagent, of which this client knows nothing");
    EXPECT_EQ(last_of({started, {T::text_start, "a", "one"}}, peer),
              "tells of a subagent, of which this client knows nothing");
  }
}

TEST(AguiRules, Types_have_the_names_of_the_protocol) {
  for (int i = 0; i <= static_cast<int>(T::custom); ++i) {
    EXPECT_EQ(agui_type_named(name_of(static_cast<T>(i))), static_cast<T>(i));
  }
  EXPECT_EQ(name_of(T::custom), "CUSTOM");
  EXPECT_FALSE(agui_type_named("TEXT_MESSAGE_CHUNK"));
}

TEST(AguiWriter, A_broken_rule_ends_the_stream_with_an_error_and_is_counted) {
  AguiWriter writer(Format::agui_sse, -1);
  std::string out;
  writer.aim(out, Timestamp{5});
  writer.begin_stream("r", true);
  const auto nothing = [](json::Writer&) {};
  writer.write({T::run_started, "r"}, nothing);
  writer.write({T::text_end, "a"}, nothing);
  writer.write({T::run_finished, "r"}, nothing);
  EXPECT_EQ(out,
            "id: r-0\ndata: {\"type\":\"RUN_STARTED\",\"timestamp\":5}\n\n"
            "id: r-1\ndata: {\"type\":\"RUN_ERROR\",\"message\":\"The stream cannot go on by AG-UI's rules: "
            "TEXT_MESSAGE_END of a ends what is not open.\",\"code\":\"protocol_violation\",\"timestamp\":5}\n\n");
  EXPECT_TRUE(writer.is_over());
  EXPECT_EQ(writer.violations(), 1);
  writer.begin_stream("s", true);
  writer.write({T::run_started, "s"}, nothing);
  EXPECT_FALSE(writer.leave("unknown"));
  EXPECT_EQ(writer.violations(), 2);
}

}  // namespace agui_rules_test
}  // namespace sluice::wire
