#include "wire/timeline_fold.h"

#include <gtest/gtest.h>

#include "wire/wire.h"

namespace sluice::wire {
namespace timeline_fold_test {

using model::EventKind;

constexpr int64_t created_ms = 1'782'986'400'000;

class TimelineFoldTest : public testing::Test {
 protected:
  void see(int64_t ms, EventKind kind, std::string body = "") {
    fold_.apply({kind, {created_ms + ms}, std::move(body)});
  }
  std::string phases(std::optional<int64_t> ended_ms = {}) {
    model::Run run;
    if (ended_ms) run.ended_at = Timestamp{created_ms + *ended_ms};
    const auto text = fold_.json(run);
    return text.substr(text.find("\"phases\""));
  }

  TimelineFold fold_{{created_ms}};
};

TEST_F(TimelineFoldTest, A_plain_run_waits_says_its_first_word_and_speaks) {
  see(0, EventKind::accepted, "{}");
  see(3, EventKind::started);
  see(120, EventKind::text, "Hello");
  see(150, EventKind::text, " there");
  see(160, EventKind::completed, "{}");
  EXPECT_EQ(phases(160), R"("phases":[{"phase":"queue","label":"Waiting for a place","from_ms":0,"to_ms":3},)"
                         R"({"phase":"first_token","label":"Until the first word","from_ms":3,"to_ms":120},)"
                         R"({"phase":"text","label":"Answer","from_ms":120,"to_ms":150}]})");
}

TEST_F(TimelineFoldTest, The_first_word_is_waited_for_once_the_box_is_ready) {
  see(0, EventKind::accepted, "{}");
  see(2, EventKind::queued, R"({"position":1,"retry_hint_seconds":2})");
  see(1000, EventKind::started);
  see(1300, EventKind::log, R"({"level":"info","text":"Fetched it.","phase":"repository","durationMs":300})");
  see(1350, EventKind::log, R"({"level":"info","text":"Opened a sandbox.","phase":"sandbox","durationMs":50})");
  see(1360, EventKind::log, R"({"level":"info","text":"no phase"})");
  see(1500, EventKind::reasoning, "hm");
  see(1600, EventKind::text, "So");
  const auto found = phases();
  EXPECT_NE(found.find(R"({"phase":"queue","label":"Waiting for a place","from_ms":0,"to_ms":1000})"),
            std::string::npos);
  EXPECT_NE(found.find(R"({"phase":"first_token","label":"Until the first word","from_ms":1350,"to_ms":1500})"),
            std::string::npos);
  EXPECT_NE(found.find(R"({"phase":"box","label":"Fetched it.","from_ms":1000,"to_ms":1300,"id":"repository"})"),
            std::string::npos);
  EXPECT_NE(found.find(R"({"phase":"box","label":"Opened a sandbox.","from_ms":1300,"to_ms":1350,"id":"sandbox"})"),
            std::string::npos);
  EXPECT_NE(found.find(R"({"phase":"text","label":"Thinking","from_ms":1500,"to_ms":1500})"), std::string::npos);
  EXPECT_NE(found.find(R"({"phase":"text","label":"Answer","from_ms":1600,"to_ms":1600})"), std::string::npos);
}

TEST_F(TimelineFoldTest, Steps_overlap_and_end_each_by_itself) {
  see(0, EventKind::started);
  see(10, EventKind::step, R"({"id":"a","name":"shell","status":"running"})");
  see(20, EventKind::step, R"({"id":"b","name":"read","status":"running"})");
  see(30, EventKind::step, R"({"id":"a","name":"shell","status":"succeeded"})");
  EXPECT_NE(phases().find(R"({"phase":"step","label":"shell","from_ms":10,"to_ms":30,"status":"succeeded","id":"a"})"),
            std::string::npos);
  EXPECT_NE(phases().find(R"({"phase":"step","label":"read","from_ms":20,"to_ms":null,"status":"running","id":"b"})"),
            std::string::npos);
  see(40, EventKind::failed, R"({"type":"http://h/problems/model-error"})");
  EXPECT_NE(phases(40).find(R"({"phase":"step","label":"read","from_ms":20,"to_ms":40,"status":"failed","id":"b"})"),
            std::string::npos);
}

TEST_F(TimelineFoldTest, A_gate_lasts_until_a_human_agreed_and_is_told_how_else_it_ended) {
  const auto gate = R"({"id":"apr_1","reason":"It needs a human."})";
  see(0, EventKind::started);
  see(5, EventKind::gate, gate);
  EXPECT_NE(phases().find(R"("from_ms":5,"to_ms":null,"status":"pending","id":"apr_1"})"), std::string::npos);
  see(900, EventKind::resumed, R"({"approval_id":"apr_1","decision":"approved"})");
  EXPECT_NE(phases().find(R"("label":"It needs a human.","from_ms":5,"to_ms":900,"status":"approved","id":"apr_1"})"),
            std::string::npos);
  see(1000, EventKind::gate, gate);
  see(1100, EventKind::failed, R"({"type":"http://h/problems/approval-denied"})");
  EXPECT_NE(phases(1100).find(R"("from_ms":1000,"to_ms":1100,"status":"denied")"), std::string::npos);
}

TEST_F(TimelineFoldTest, A_clock_that_goes_back_and_bodies_that_are_none_give_no_negative_spans) {
  see(0, EventKind::accepted, "{}");
  see(100, EventKind::started);
  see(50, EventKind::text, "early");
  see(60, EventKind::log, R"({"phase":"sandbox","durationMs":90000})");
  see(60, EventKind::log, R"({"phase":"sandbox","durationMs":"long"})");
  see(70, EventKind::step, "no JSON");
  see(70, EventKind::step, R"({"name":"nameless"})");
  see(20, EventKind::cancelled, "{}");
  EXPECT_EQ(phases(20), R"("phases":[{"phase":"queue","label":"Waiting for a place","from_ms":0,"to_ms":100},)"
                        R"({"phase":"first_token","label":"Until the first word","from_ms":100,"to_ms":100},)"
                        R"({"phase":"text","label":"Answer","from_ms":50,"to_ms":50},)"
                        R"({"phase":"box","label":"","from_ms":0,"to_ms":60,"id":"sandbox"}]})");
}

}  // namespace timeline_fold_test
}  // namespace sluice::wire
