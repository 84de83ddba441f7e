#include "model/event_codec.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <set>

namespace sluice::model {
namespace event_codec_test {

using namespace events;

// A journal row with every kind of event, byte for byte as version 0.1 wrote it.
std::string golden_batch() {
  std::ifstream file(std::string(SLUICE_SOURCE_DIR) + "/src/model/testdata/journal_0.1.batch", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

EventData decoded(EventKind kind, std::string body) {
  static RunEvent event;  // some kinds are views of it
  event = {kind, {}, std::move(body)};
  return decode(event);
}

// A new kind is one more number, and one more alternative.
TEST(EventCodec, Every_number_of_a_kind_has_one_struct) {
  std::set<std::size_t> alternatives;
  for (int number = 1; number <= 26; ++number) {
    const auto kind = static_cast<EventKind>(number);
    const auto data = decoded(kind, "{}");
    EXPECT_EQ(kind_of(data), kind);
    EXPECT_FALSE(std::holds_alternative<Unreadable>(data)) << number;
    alternatives.insert(data.index());
  }
  EXPECT_EQ(alternatives.size() + 1, std::variant_size_v<EventData>) << "all but Unreadable";
  EXPECT_EQ(name_of(static_cast<EventKind>(27)), "unknown");
}

TEST(EventCodec, A_journal_of_version_0_1_is_read_and_encoded_again_byte_for_byte) {
  const auto bytes = golden_batch();
  const auto events = decode_batch(bytes);
  ASSERT_TRUE(events);
  std::set<EventKind> kinds;
  std::vector<RunEvent> again;
  for (const auto& event : events.value()) {
    kinds.insert(event.kind);
    const auto data = decode(event);
    EXPECT_FALSE(std::holds_alternative<Unreadable>(data)) << event.body;
    again.push_back(encode(data, event.at));
    EXPECT_EQ(again.back().kind, event.kind);
    EXPECT_EQ(again.back().body, event.body);
  }
  EXPECT_EQ(kinds.size(), 26u) << "every kind is in it";
  EXPECT_TRUE(encode_batch(again) == bytes);
}

TEST(EventCodec, Every_member_comes_back_as_it_was_encoded) {
  const std::vector<EventData> all = {
      Accepted{"req_1", "00-1-2-01", {R"({"id":"con_1"})"}, {.session_id = "s", .sandbox_url = "u"}},
      Started{},
      Started{{R"({"id":"con_1"})"}},
      Text{"a\nb"},
      Reasoning{"r"},
      Filler{"f"},
      Log{"info", "t", "sandbox", 5, 1, 2},
      UsageSum{1, 2, "m"},
      Completed{R"({"content":"x","usage":{"input_tokens":1,"output_tokens":2}})", "x", Usage{1, 2}},
      Failed{{R"({"type":"http://h/problems/model-error","title":"T","detail":"D","status":502})", "model-error", "T",
              "D", 502}},
      Cancelled{{.problem = "nonsense"}},
      Step{"s", "bash", StepStatus::running, {R"({"a":[1,2.5]})"}, {}, {}, {}, "sub"},
      Step{"s", "bash", StepStatus::succeeded, {}, {R"("r")"}, {}, 3, ""},
      Step{"s", "bash", StepStatus::failed, {}, {}, "e", 0, ""},
      Output{"s", "stderr", "\"", "sub"},
      File{"create", "/a", 9},
      Diff{".", "d"},
      Custom{"n", {"null"}},
      Queued{3, 4},
      Resumed{"apr_1", "approved"},
      Egress{"h", 443, "GET", 200, 1, 2, {R"(["A"])"}, {"null"}, 3, 4, 5},
      Checkpoint{"own"},
      Replaced{7},
      Call{"s", "bash", {}, "sub"},
      Call{"s", "", "{", ""},
      Subagent{"sub", "n", SubagentStatus::failed, "s", ""},
      SubagentText{"sub", "t", {}},
      Answers{{"r", "", {{"s", "c", true}}}},
      Mark{"own"},
      Unreadable{EventKind::step, "[]"},
  };
  for (const auto& data : all) {
    const auto event = encode(data, {5});
    EXPECT_EQ(event.kind, kind_of(data));
    EXPECT_EQ(event.at, Timestamp{5});
    EXPECT_EQ(decode(event).index(), data.index()) << event.body;
    EXPECT_EQ(encode(decode(event), {5}), event);
  }
}

TEST(EventCodec, A_gate_has_the_approval_as_clients_see_it_and_what_is_asked) {
  const std::string body =
      R"({"id":"apr_1","reason":"why","requested_items":[{"kind":"action","description":"d"}],"expires_at":"later"})";
  const auto gate = std::get<Gate>(decoded(EventKind::gate, body));
  EXPECT_EQ(gate.approval.text, body);
  EXPECT_EQ(gate.id, "apr_1");
  EXPECT_EQ(gate.reason, "why");
  EXPECT_EQ(gate.expires_at, "later");
  ASSERT_EQ(gate.items.size(), 1u);
  EXPECT_EQ(gate.items[0].description, "d");
}

TEST(EventCodec, Missing_wrong_and_unknown_members_are_as_if_they_were_not_there) {
  const auto are_as_new = [](EventKind kind, std::string body, const EventData& fresh) {
    const auto data = decoded(kind, std::move(body));
    EXPECT_EQ(data.index(), fresh.index());
    EXPECT_EQ(encode(data, {}), encode(fresh, {}));
  };
  are_as_new(EventKind::step, R"({"id":5,"status":"odd","durationMs":"long","new":{}})", Step{});
  are_as_new(EventKind::usage, R"({"input_tokens":"1","output_tokens":1.5})", UsageSum{});
  are_as_new(EventKind::replaced, R"({"kept_bytes":"1"})", Replaced{});
  are_as_new(EventKind::started, "nonsense", Started{});
  are_as_new(EventKind::accepted, "nonsense", Accepted{});
  are_as_new(EventKind::resumed, "", Resumed{});
  EXPECT_EQ(std::get<Completed>(decoded(EventKind::completed, "")).content, "");
  EXPECT_EQ(std::get<Failed>(decoded(EventKind::failed, "x")).status, 500);
  // An error that is no text is shown as it is.
  EXPECT_EQ(std::get<Step>(decoded(EventKind::step, R"({"error":{"code":1}})")).error, R"({"code":1})");
}

TEST(EventCodec, A_body_that_is_no_object_is_kept_and_is_no_error) {
  for (const auto* body : {"", "nonsense", "[]", "5", "{\"id\":", "\xff"}) {
    for (const auto kind :
         {EventKind::log, EventKind::usage, EventKind::step, EventKind::output, EventKind::file, EventKind::diff,
          EventKind::custom, EventKind::queued, EventKind::gate, EventKind::egress, EventKind::replaced,
          EventKind::call, EventKind::subagent, EventKind::subagent_text, EventKind::answers}) {
      const auto data = decoded(kind, body);
      EXPECT_TRUE(std::holds_alternative<Unreadable>(data)) << body;
      EXPECT_EQ(encode(data, {5}), (RunEvent{kind, {5}, body}));
    }
  }
}

// What a visitor was called with.
std::string seen_by_visitor(const RunEvent& event) {
  std::string seen;
  visit_event(event, Visitor{[&](const Text& text) { seen = "text " + std::string(text.text); },
                             [&](const Step& step) { seen = "step " + step.id; },
                             [&](const auto& other) { seen = name_of(other.kind); }});
  return seen;
}

TEST(EventCodec, A_visitor_gets_the_struct_of_the_kind) {
  EXPECT_EQ(seen_by_visitor({EventKind::text, {}, "hi"}), "text hi");
  EXPECT_EQ(seen_by_visitor({EventKind::step, {}, R"({"id":"s"})"}), "step s");
  for (const auto kind : {EventKind::reasoning, EventKind::filler, EventKind::checkpoint, EventKind::mark,
                          EventKind::completed, EventKind::gate}) {
    EXPECT_EQ(seen_by_visitor({kind, {}, "x"}), name_of(kind));
  }
}

}  // namespace event_codec_test
}  // namespace sluice::model
