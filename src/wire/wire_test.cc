#include <gtest/gtest.h>

#include "store/simulated_store.h"
#include "wire/wire.h"
#include "world/fake_world.h"

namespace sluice::wire {
namespace wire_test {

using model::EventKind;

// Journals come out of a store, as everywhere: nothing else can make a Committed.
class IntegrationFoldTest : public testing::Test {
 protected:
  journal::CommittedBatch journal_of(std::vector<model::RunEvent> events) {
    for (std::size_t i = 0; i < events.size(); ++i) {
      events[i].at = Timestamp{1'782'986'401'000 + static_cast<int64_t>(i)};
    }
    store::SimulatedDatabase disk;
    store::SimulatedStore store(disk, loop_);
    store::create_tenant(store.database(), {.id = tenant_}, {.id = agent_, .tenant_id = tenant_, .is_default = true},
                         [](Result<Unit>) {});
    journal::NewRun made;
    made.conversation = model::Conversation{.id = conversation_, .tenant_id = tenant_, .agent_id = agent_};
    made.user_message = {.id = ids_.make<model::MessageId>(), .conversation_id = conversation_};
    made.assistant_message = {.id = message_, .conversation_id = conversation_};
    made.run = {.id = ids_.make<model::RunId>(), .tenant_id = tenant_, .conversation_id = conversation_};
    made.run.user_message_id = made.user_message.id;
    made.run.message_id = message_;
    made.events = std::move(events);
    journal::CommittedBatch journal;
    store.accept(std::move(made), [&](Result<journal::AcceptOutcome> outcome) {
      ASSERT_TRUE(outcome);
      journal = std::get<journal::Accepted>(outcome.value()).events;
    });
    loop_.settle();
    return journal;
  }
  std::string fold(const journal::CommittedBatch& journal, Format format = Format::ndjson, int64_t after = -1) {
    IntegrationFold fold(format, conversation_, message_, after);
    std::string out;
    for (const auto& news : journal) fold.apply(news, out);
    return out;
  }
  std::string envelope(std::string_view type, int seq, std::string_view data) {
    return R"({"object":"conversation.event","type":")" + std::string(type) + R"(","conversation_id":")" +
           conversation_.text() + R"(","message_id":")" + message_.text() + R"(","seq":)" + std::to_string(seq) +
           R"(,"data":)" + std::string(data) + R"(,"created_at":"2026-07-02T10:00:01.)";
  }

  world::FakeLoop loop_;
  world::FakeEntropy entropy_;
  world::IdSource ids_{loop_, entropy_};
  model::TenantId tenant_ = ids_.make<model::TenantId>();
  model::AgentId agent_ = ids_.make<model::AgentId>();
  model::ConversationId conversation_ = ids_.make<model::ConversationId>();
  model::MessageId message_ = ids_.make<model::MessageId>();
};

TEST_F(IntegrationFoldTest, Each_kind_becomes_its_line_in_the_documented_spelling_I_5_I_6) {
  const auto text = fold(journal_of({
      {EventKind::accepted, {}, "{}"},
      {EventKind::started, {}, ""},
      {EventKind::filler, {}, "One moment "},
      {EventKind::reasoning, {}, "hm"},
      {EventKind::text, {}, "Say \"hi\"\n"},
      {EventKind::log, {}, "{}"},
      {EventKind::usage, {}, "{}"},
      {EventKind::completed, {}, R"({"object":"message"})"},
  }));
  EXPECT_EQ(text, envelope("message_start", 0, R"({"role":"assistant"})") + "001Z\"}\n" +
                      envelope("content_delta", 1, R"({"text":"One moment ","filler":true})") + "002Z\"}\n" +
                      envelope("content_delta", 2, R"({"text":"Say \"hi\"\n"})") + "004Z\"}\n" +
                      envelope("message_end", 3, R"({"message":{"object":"message"}})") + "007Z\"}\n");
}

TEST_F(IntegrationFoldTest, A_conversation_made_with_the_message_rides_in_the_first_line_I_2) {
  const auto text = fold(journal_of({{EventKind::started, {}, R"({"conversation":{"id":"con_1"}})"}}));
  EXPECT_EQ(text, envelope("message_start", 0, R"({"role":"assistant","conversation":{"id":"con_1"}})") + "000Z\"}\n");
}

TEST_F(IntegrationFoldTest, Failure_and_cancellation_are_terminal_errors_with_their_problem_I_7) {
  for (const auto kind : {EventKind::failed, EventKind::cancelled}) {
    IntegrationFold fold(Format::ndjson, conversation_, message_, -1);
    std::string out;
    for (const auto& news : journal_of({{kind, {}, R"({"status":502})"}})) {
      fold.apply(news, out);
      const auto ending = ending_of(news);
      ASSERT_TRUE(ending);
      const auto* failed = std::get_if<model::events::Failed>(&*ending);
      EXPECT_EQ(failed ? failed->problem : std::get<model::events::Cancelled>(*ending).problem, R"({"status":502})");
    }
    EXPECT_EQ(out, envelope("error", 0, R"({"status":502})") + "000Z\"}\n");
    EXPECT_TRUE(fold.ended());
  }
}

TEST_F(IntegrationFoldTest, Seq_has_no_gaps_and_leaving_out_what_a_reader_has_changes_no_byte_I_7) {
  const auto journal = journal_of({
      {EventKind::started, {}, ""},
      {EventKind::text, {}, "a"},
      {EventKind::reasoning, {}, "b"},
      {EventKind::text, {}, "c"},
      {EventKind::completed, {}, "{}"},
  });
  for (const auto format : {Format::ndjson, Format::sse}) {
    const std::string_view end_of_one = format == Format::sse ? "\n\n" : "\n";
    std::string rest = fold(journal, format);
    for (int64_t after = -1; after <= 3; ++after) {
      EXPECT_EQ(fold(journal, format, after), rest);
      EXPECT_NE(rest.find(R"("seq":)" + std::to_string(after + 1)), after == 3 ? 0 : std::string::npos);
      rest.erase(0, rest.find(end_of_one) + end_of_one.size());
    }
  }
}

TEST_F(IntegrationFoldTest, A_frame_of_server_sent_events_carries_the_very_line) {
  const auto journal = journal_of({{EventKind::started, {}, ""}, {EventKind::text, {}, "x"}});
  const auto lines = fold(journal);
  const auto first = lines.substr(0, lines.find('\n'));
  const auto second = lines.substr(lines.find('\n') + 1, lines.size() - first.size() - 2);
  EXPECT_EQ(fold(journal, Format::sse), "id: 0\nevent: message_start\ndata: " + first +
                                            "\n\nid: 1\nevent: content_delta\ndata: " + second + "\n\n");
}

TEST_F(IntegrationFoldTest, A_wait_for_a_place_and_a_wait_for_a_human_are_told_in_one_count_I_12_I_14_I_16) {
  const auto journal = journal_of({
      {EventKind::accepted, {}, "{}"},
      {EventKind::queued, {}, R"({"position":2,"retry_hint_seconds":15})"},
      {EventKind::started, {}, ""},
      {EventKind::checkpoint, {}, R"({"turns":[]})"},
      {EventKind::gate, {}, R"({"object":"approval","id":"apr_x"})"},
      {EventKind::resumed, {}, R"({"approval_id":"apr_x","decision":"approved"})"},
      {EventKind::egress, {}, R"({"host":"crm.example"})"},
  });
  const auto first = envelope("queued", 0, R"({"position":2,"retry_hint_seconds":15})");
  const auto named = R"("message_id":")" + message_.text() + '"';
  const auto without_message = std::string(first).replace(first.find(named), named.size(), R"("message_id":null)");
  const auto lines = without_message + "001Z\"}\n" + envelope("message_start", 1, R"({"role":"assistant"})") +
                     "002Z\"}\n" + envelope("approval_required", 2, R"({"object":"approval","id":"apr_x"})") +
                     "004Z\"}\n" + envelope("resumed", 3, R"({"approval_id":"apr_x","decision":"approved"})") +
                     "005Z\"}\n";
  EXPECT_EQ(fold(journal), lines);
  EXPECT_EQ(fold(journal, Format::full_ndjson),
            lines + envelope("egress", 4, R"({"host":"crm.example"})") + "006Z\"}\n");
}

TEST_F(IntegrationFoldTest, A_reader_of_everything_gets_what_the_agent_does_too) {
  const auto journal = journal_of({
      {EventKind::accepted, {}, "{}"},
      {EventKind::started, {}, ""},
      {EventKind::reasoning, {}, "h\"m"},
      {EventKind::step, {}, R"({"id":"step_1","status":"running"})"},
      {EventKind::file, {}, R"({"type":"create","path":"a"})"},
      {EventKind::text, {}, "Done."},
  });
  EXPECT_EQ(fold(journal, Format::full_ndjson),
            envelope("message_start", 0, R"({"role":"assistant"})") + "001Z\"}\n" +
                envelope("reasoning", 1, R"({"text":"h\"m"})") + "002Z\"}\n" +
                envelope("step", 2, R"({"id":"step_1","status":"running"})") + "003Z\"}\n" +
                envelope("file", 3, R"({"type":"create","path":"a"})") + "004Z\"}\n" +
                envelope("content_delta", 4, R"({"text":"Done."})") + "005Z\"}\n");
  EXPECT_EQ(fold(journal, Format::ndjson).find("step"), std::string::npos) << "other readers do not get it";
}

class TraceFoldTest : public IntegrationFoldTest {
 protected:
  static std::string trace(const journal::CommittedBatch& journal, Format format, int64_t after = -1) {
    TraceFold fold(format, after);
    std::string out;
    for (const auto& news : journal) fold.apply(news, out);
    EXPECT_TRUE(fold.ended());
    return out;
  }
  std::string message_json(std::string content) {
    model::Message message{.id = message_, .conversation_id = conversation_, .role = model::Role::assistant};
    message.content = std::move(content);
    message.usage = {3, 4};
    return model::to_json(message);
  }
};

TEST_F(TraceFoldTest, A_run_is_told_in_the_four_line_types_S_9) {  // S-9, S-11
  const auto journal = journal_of({
      {EventKind::accepted, {}, "{}"},
      {EventKind::started, {}, ""},
      {EventKind::text, {}, "Let me look. "},
      {EventKind::step, {}, R"({"id":"step_1","name":"bash","status":"running","args":{"command":"ls"}})"},
      {EventKind::output, {}, R"({"id":"step_1","stream":"stdout","text":"a\n"})"},
      {EventKind::step, {}, R"({"id":"step_1","name":"bash","status":"succeeded","result":"a\n","durationMs":2})"},
      {EventKind::text, {}, "There is one file."},
      {EventKind::completed, {}, message_json("Let me look. There is one file.")},
  });
  EXPECT_EQ(
      trace(journal, Format::trace),
      R"({"type":"step","id":"step_1","name":"bash","status":"running","args":{"command":"ls"},"ts":1782986401003})"
      "\n"
      R"({"type":"step","id":"step_1","name":"bash","status":"succeeded","result":"a\n","durationMs":2,"ts":1782986401005})"
      "\n"
      R"({"type":"result","message":"There is one file.","ts":1782986401007})"
      "\n");
  const auto extended = trace(journal, Format::extended_trace);
  EXPECT_NE(extended.find(R"("type":"delta","text":"Let me look. ")"), std::string::npos);
  EXPECT_NE(extended.find(R"("message":"Let me look. There is one file.")"), std::string::npos);
}

TEST_F(TraceFoldTest, The_result_does_not_begin_with_the_break_that_parts_it_from_what_was_said_before) {
  const auto journal = journal_of({
      {EventKind::text, {}, "Let me look."},
      {EventKind::step, {}, R"({"id":"s","name":"bash","status":"succeeded"})"},
      {EventKind::text, {}, "\n\n"},
      {EventKind::text, {}, "One."},
      {EventKind::completed, {}, message_json("Let me look.\n\nOne.")},
  });
  EXPECT_NE(trace(journal, Format::trace).find(R"("message":"One.")"), std::string::npos);
  EXPECT_NE(trace(journal, Format::extended_trace).find(R"("message":"Let me look.\n\nOne.")"), std::string::npos);
}

TEST_F(TraceFoldTest, The_result_is_what_stands_after_text_was_taken_back) {
  const model::RunEvent step{EventKind::step, {}, R"({"id":"s","name":"bash","status":"succeeded"})"};
  const auto late = journal_of({
      {EventKind::text, {}, "Let me look. "},
      step,
      {EventKind::text, {}, "Two"},
      {EventKind::replaced, {}, R"({"kept_bytes":13})"},
      {EventKind::text, {}, "One."},
      {EventKind::completed, {}, message_json("Let me look. One.")},
  });
  EXPECT_NE(trace(late, Format::trace).find(R"("message":"One.")"), std::string::npos);
  EXPECT_NE(trace(late, Format::extended_trace).find(R"({"type":"replaced","kept_bytes":13)"), std::string::npos);
  const auto whole = journal_of({
      {EventKind::text, {}, "Let me look. "},
      step,
      {EventKind::replaced, {}, R"({"kept_bytes":0})"},
      {EventKind::text, {}, "One."},
      {EventKind::completed, {}, message_json("One.")},
  });
  EXPECT_NE(trace(whole, Format::trace).find(R"("message":"One.")"), std::string::npos);
}

TEST_F(TraceFoldTest, A_reader_who_returns_is_told_the_rest_and_nothing_twice) {
  const auto journal = journal_of({
      {EventKind::started, {}, ""},
      {EventKind::log, {}, R"({"level":"info","text":"one"})"},
      {EventKind::log, {}, R"({"level":"info","text":"two"})"},
      {EventKind::completed, {}, message_json("x")},
  });
  const auto whole = trace(journal, Format::trace);
  std::size_t at = 0;
  for (int64_t after = -1; at != std::string::npos && at < whole.size(); ++after) {
    EXPECT_EQ(trace(journal, Format::trace, after), whole.substr(at));
    at = whole.find('\n', at) + 1;
  }
}

TEST_F(TraceFoldTest, A_run_that_failed_ends_with_an_error_line_S_9) {
  std::string problem;
  model::append_json(problem, {.slug = model::Slug::model_timeout, .detail = "Too slow."}, {"http://test", "", ""});
  const auto text = trace(journal_of({{EventKind::failed, {}, problem}}), Format::trace);
  EXPECT_EQ(text, R"({"type":"error","code":"model_timeout","message":"Too slow.","ts":1782986401000})"
                  "\n");
}

}  // namespace wire_test
}  // namespace sluice::wire
