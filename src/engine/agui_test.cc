// What a message brings along: the names an AG-UI client gives, its earlier messages, the session to
// continue; and readers that see one segment of a run.
#include "engine/client_history.h"
#include "engine/gate_fixture.h"

namespace sluice::engine {
namespace agui_test {

using model::EventKind;
using model::RunState;
using model::Slug;

constexpr wire::View segment_of(int64_t segment) { return {.format = wire::Format::agui_ndjson, .segment = segment}; }

class AguiTest : public GateTest {
 protected:
  Send named(std::variant<model::ConversationId, model::Conversation> where, std::string thread_id,
             std::string run_id) {
    auto send = message("And now?");
    send.conversation = std::move(where);
    send.extras.agui = model::AguiNames{.thread_id = std::move(thread_id), .run_id = std::move(run_id)};
    return send;
  }
  model::Conversation fresh_conversation() {
    return {.id = ids.make<model::ConversationId>(), .tenant_id = tenant.id, .agent_id = agent.id};
  }
  void change_kit(const std::string& agent_type) {
    store::AgentPatch patch;
    patch.kit = model::AgentKit{.agent_type = agent_type};
    store::update_agent(store->database(), tenant.id, agent.id, patch, loop.now(),
                        [](const Result<model::Agent>& done) { ASSERT_TRUE(done); });
    loop.settle();
  }
  // By the gate that `agent_asks` has raised.
  void go_on_as(std::string run_id) {
    auto made = decision();
    made.answers.agui_run_id = std::move(run_id);
    made.answers.agui_thread_id = "t";
    EXPECT_TRUE(std::holds_alternative<model::Approval>(decide(std::move(made))));
  }
};

// ── what comes with a message ──

TEST_F(AguiTest, Extras_reach_the_agent_now_and_after_a_restart_H_3) {  // H-3
  auto send = named(conversation, "t", "r");
  send.extras.session_id = "session \"1\"";
  send.extras.client_tools = {{"pick", "Picks.", R"({"type":"object"})"}};
  send.extras.context = {{"page", "Settings ✓"}};
  send.extras.agui->parent_run_id = "before";
  send.extras.agui->messages = R"([{"id":"m","role":"user","content":"And now?"}])";
  const auto extras = send.extras;
  send_ok(send);
  EXPECT_EQ(last_dispatch().extras, extras);
  restart_server();
  ASSERT_EQ(dispatcher.jobs.size(), 2U);
  EXPECT_EQ(last_dispatch().extras, extras);
  agent_asks();
  decide(decision());
  EXPECT_EQ(last_dispatch().extras, extras) << "and when it is resumed after a gate";
}

TEST_F(AguiTest, A_name_that_is_not_free_creates_nothing_and_is_said_so) {
  send_ok(named(conversation, "t", "r"));
  agent_finishes();
  const auto outcome = send(named(conversation, "t", "r"));
  ASSERT_TRUE(std::holds_alternative<model::Problem>(outcome));
  EXPECT_EQ(std::get<model::Problem>(outcome).slug, Slug::name_conflict);
  EXPECT_EQ(std::get<model::Problem>(outcome).detail, "Nothing was created: thread t has a run r already.");
  EXPECT_EQ(send_refused(named(fresh_conversation(), "t", "r2")), Slug::name_conflict);
  EXPECT_EQ(engine->capacity().running, 0) << "its slot is free again";
  send_ok(named(conversation, "t", "r2"));
}

TEST_F(AguiTest, A_conversation_keeps_the_agent_type_that_it_was_made_with_H_1) {  // H-1
  change_kit("codex");
  const auto run = send_ok(named(fresh_conversation(), "t", "r"));
  EXPECT_EQ(last_dispatch().agent.kit.agent_type, "codex");
  EXPECT_NE(read_all(run).find(R"("agent_type":"codex")"), std::string::npos) << "the stream's first event shows it";
  change_kit("opencode");
  restart_server();
  EXPECT_EQ(last_dispatch().agent.kit.agent_type, "codex");
  send_ok(message("hello"));
  EXPECT_EQ(last_dispatch().agent.kit.agent_type, "native") << "of a conversation from before";
}

TEST_F(AguiTest, An_agent_that_is_not_there_is_not_found) {
  auto made = fresh_conversation();
  made.agent_id = ids.make<model::AgentId>();
  EXPECT_EQ(send_refused(named(made, "t", "r")), Slug::not_found);
}

// ── what was said elsewhere ──

constexpr std::string_view elsewhere = R"([
  {"id":"1","role":"system","content":"Be brief."},
  {"id":"2","role":"user","content":"Hello"},
  {"id":"3","role":"assistant","content":[{"type":"text","text":"Good"},{"type":"image"},{"type":"text","text":"day"}]},
  {"id":"4","role":"assistant","toolCalls":[]},
  {"id":"5","role":"tool","toolCallId":"x","content":"42"},
  {"id":"6","role":"user","content":"And now?"}])";

std::string text_of(const std::vector<dispatch::HistoryTurn>& turns) {
  std::string out;
  for (const auto& turn : turns) out += std::string(model::name_of(turn.role)) + ": " + turn.content + "\n";
  return out;
}

TEST(ClientHistory, Is_what_user_and_assistant_said_before_the_last_message) {
  EXPECT_EQ(text_of(client_history(elsewhere, 200)),
            "user: Hello\nassistant: Good\n[image, which cannot be shown here]\nday\n");
  EXPECT_EQ(text_of(client_history(elsewhere, 1)), "assistant: Good\n[image, which cannot be shown here]\nday\n")
      << "the newest counts first";
  EXPECT_TRUE(client_history(elsewhere, 0).empty());
  for (const auto* nothing : {"", "[]", "{}", "[1,{}]", R"([{"role":"assistant","content":"x"}])"}) {
    EXPECT_TRUE(client_history(nothing, 200).empty()) << nothing;
  }
}

TEST(ClientHistory, Is_bounded) {
  const auto large = R"({"role":"user","content":")" + std::string(limits::history_bytes_max / 2, 'x') + "\"}";
  EXPECT_EQ(client_history("[" + large + "," + large + "," + large + "," + large + "]", 200).size(), 2U);
}

TEST_F(AguiTest, The_first_message_of_a_thread_brings_its_history_and_later_ones_do_not) {
  dispatcher.wants_history = true;
  const auto made = fresh_conversation();
  auto first = named(made, "t", "r");
  first.extras.agui->messages = elsewhere;
  send_ok(first);
  EXPECT_EQ(text_of(last_dispatch().history),
            "user: Hello\nassistant: Good\n[image, which cannot be shown here]\nday\n");
  restart_server();
  EXPECT_EQ(text_of(last_dispatch().history),
            "user: Hello\nassistant: Good\n[image, which cannot be shown here]\nday\n");
  agent_says("Then.");
  agent_finishes();
  auto second = named(made.id, "t", "r2");
  second.extras.agui->messages = elsewhere;
  send_ok(second);
  EXPECT_EQ(text_of(last_dispatch().history), "user: And now?\nassistant: Then.\n");
}

// ── text that is taken back ──

TEST_F(AguiTest, Text_that_is_taken_back_is_not_part_of_the_message) {
  const auto run = send_ok(message("hello"));
  agent_says("Héllo wrong");
  agent_says(R"({"kept_bytes":7})", EventKind::replaced);
  agent_says("right ");
  agent_says(R"({"kept_bytes":2})", EventKind::replaced);  // in the middle of the é
  agent_says("i.");
  agent_finishes();
  EXPECT_NE(stored_message(run.message_id).find(R"("content":"Hi.")"), std::string::npos);
}

TEST_F(AguiTest, A_restarted_server_knows_what_was_taken_back) {
  dispatcher.resumable = true;
  const auto run = send_ok(message("hello"));
  agent_says("Hello wrong");
  agent_says(R"({"kept_bytes":6})", EventKind::replaced);
  restart_server();
  EXPECT_EQ(last_dispatch().told_text, "Hello ");
  agent_says("right");
  agent_finishes();
  EXPECT_NE(stored_message(run.message_id).find(R"("content":"Hello right")"), std::string::npos);
}

TEST_F(AguiTest, Taking_back_what_was_not_told_is_logged_and_changes_nothing) {
  const auto run = send_ok(message("hello"));
  RememberingReader reader;
  const auto reading = engine->read(run, {.format = wire::Format::full_ndjson}, reader);
  agent_says("Hello");
  for (const auto* body : {R"({"kept_bytes":6})", R"({"kept_bytes":-1})", R"({"kept_bytes":"2"})", "{}", ""}) {
    agent_says(body, EventKind::replaced);
  }
  agent_finishes();
  EXPECT_NE(stored_message(run.message_id).find(R"("content":"Hello")"), std::string::npos);
  EXPECT_EQ(reader.text.find(R"("type":"replaced")"), std::string::npos);
  EXPECT_NE(reader.text.find("took text back that it had not told"), std::string::npos);
}

// ── readers of segments ──

TEST_F(AguiTest, A_reader_of_a_segment_is_at_its_end_when_the_run_waits) {
  const auto run = send_ok(named(conversation, "t", "r0"));
  RememberingReader ana;
  RememberingReader bob;
  const auto first = engine->read(run, segment_of(0), ana);
  const auto second = engine->read(run, segment_of(1), bob);
  agent_says("Let me see.");
  agent_asks();
  EXPECT_NE(ana.text.find(R"("runId":"r0")"), std::string::npos);
  EXPECT_TRUE(ana.ended);
  EXPECT_EQ(stored_run(run).state, RunState::parked);
  EXPECT_EQ(bob.text, "") << "its segment has not begun";
  EXPECT_FALSE(bob.ended);

  const auto before = ana.text;
  go_on_as("r1");
  agent_says("It is 42.");
  agent_finishes();
  EXPECT_EQ(ana.text, before);
  EXPECT_TRUE(bob.ended);
  EXPECT_NE(bob.text.find(R"("runId":"r1")"), std::string::npos);
  EXPECT_NE(bob.text.find("It is 42."), std::string::npos);
  EXPECT_EQ(bob.text.find("Let me see."), std::string::npos);
}

TEST_F(AguiTest, A_segment_reads_the_same_to_whoever_comes_late_or_reads_slowly) {
  const auto run = send_ok(named(conversation, "t", "r0"));
  RememberingReader live;
  RememberingReader slow;
  const auto reading = engine->read(run, segment_of(1), live);
  const auto slowly = engine->read(run, segment_of(1), slow);
  agent_says("Let me see.");
  agent_asks();
  go_on_as("r1");
  slow.is_full = true;
  agent_says("It is ");
  agent_says("42.");
  agent_asks();
  EXPECT_TRUE(live.ended);
  slow.is_full = false;
  slowly->more();
  loop.settle();
  EXPECT_EQ(slow.text, live.text);
  EXPECT_TRUE(slow.ended);
  for (const bool restarted : {false, true}) {
    if (restarted) restart_server();
    RememberingReader late;
    const auto again = engine->read(run, segment_of(1), late);
    loop.settle();
    EXPECT_EQ(late.text, live.text);
    EXPECT_TRUE(late.ended) << "though the run is not over";
  }
}

TEST_F(AguiTest, A_no_is_the_end_of_the_run_that_brought_it) {
  const auto run = send_ok(named(conversation, "t", "r0"));
  agent_asks();
  RememberingReader reader;
  const auto reading = engine->read(run, segment_of(1), reader);
  loop.settle();
  auto made = decision(false);
  made.answers.agui_run_id = "r1";
  made.answers.agui_thread_id = "t";
  decide(std::move(made));
  EXPECT_TRUE(reader.ended);
  EXPECT_NE(reader.text.find(R"("runId":"r1")"), std::string::npos);
  EXPECT_NE(reader.text.find("problems/approval-denied"), std::string::npos);
  EXPECT_NE(reader.text.find("RUN_FINISHED"), std::string::npos);
}

}  // namespace agui_test
}  // namespace sluice::engine
