#include <gtest/gtest.h>

#include "store/memory_store.h"
#include "wire/wire.h"
#include "world/fake_world.h"

namespace sluice::wire {
namespace {

using model::EventKind;

// Journals come out of a store, as everywhere: nothing else can make a Committed.
class IntegrationFoldTest : public testing::Test {
 protected:
  store::CommittedBatch journal_of(std::vector<model::RunEvent> events) {
    for (std::size_t i = 0; i < events.size(); ++i) {
      events[i].at = Timestamp{1'782'986'401'000 + static_cast<int64_t>(i)};
    }
    store::MemoryDisk disk;
    store::MemoryStore store(disk, loop_);
    store.create_tenant({.id = tenant_}, {.id = agent_, .tenant_id = tenant_, .is_default = true}, [](Result<Unit>) {});
    store::NewRun made;
    made.conversation = model::Conversation{.id = conversation_, .tenant_id = tenant_, .agent_id = agent_};
    made.user_message = {.id = ids_.make<model::MessageId>(), .conversation_id = conversation_};
    made.assistant_message = {.id = message_, .conversation_id = conversation_};
    made.run = {.id = ids_.make<model::RunId>(), .tenant_id = tenant_, .conversation_id = conversation_};
    made.run.user_message_id = made.user_message.id;
    made.run.message_id = message_;
    made.events = std::move(events);
    store::CommittedBatch journal;
    store.accept(std::move(made), [&](Result<store::AcceptOutcome> outcome) {
      ASSERT_TRUE(outcome);
      journal = std::get<store::Accepted>(outcome.value()).events;
    });
    loop_.settle();
    return journal;
  }
  std::string fold(const store::CommittedBatch& journal, Format format = Format::ndjson, int64_t after = -1) {
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
      EXPECT_EQ(ending_of(news)->body, R"({"status":502})");
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

}  // namespace
}  // namespace sluice::wire
