// One turn at a time, its readers, and what becomes of it without a reader (A-3, A-6).
#include "api/assistant/chat_fixture.h"

namespace sluice::api {
namespace turns_test {

constexpr Millis grace{2'000};

class TurnsTest : public ChatTest {
 protected:
  TurnsTest() : stream(turn("Hi")), chat_id(stream->header("X-Chat-Id")), run(stream->header("X-Stream-Id")) {}

  std::string state_of(const std::string& id) { return get("/v1/runs/" + id)->text("state"); }

  Answer stream;
  std::string chat_id;
  std::string run;
};

TEST_F(TurnsTest, A_6_a_turn_whose_reader_leaves_is_cancelled_after_the_grace) {  // A-6
  EXPECT_TRUE(stream->leaves_at_half_close);
  agent_says("I beg");
  stream->hang_up();
  loop.settle();
  loop.advance({grace.value - 1});
  EXPECT_EQ(state_of(run), "streaming");
  loop.advance({1});
  EXPECT_EQ(state_of(run), "cancelled");
  EXPECT_EQ(agent.listener, nullptr) << "no agent is at work";
  const auto next = turn("Again", chat_id);
  EXPECT_EQ(next->status, 200) << "the chat is free";
}

TEST_F(TurnsTest, A_6_a_client_that_reconnects_in_time_or_a_second_reader_keeps_the_turn_running) {
  const auto other_tab = follow(run);
  stream->hang_up();
  loop.advance({grace.value * 2});
  EXPECT_EQ(state_of(run), "streaming") << "one of two has left";
  other_tab->hang_up();
  loop.advance({grace.value - 1});
  const auto back = follow(run);
  loop.advance({grace.value * 2});
  EXPECT_EQ(state_of(run), "streaming");
  agent_says("Done.");
  agent_finishes();
  EXPECT_TRUE(back->finished);
  EXPECT_NE(back->body.find("event: done"), std::string::npos);
}

TEST_F(TurnsTest, A_turn_whose_client_asked_for_it_continues_without_a_reader) {
  agent_finishes();
  const auto kept = turn("Go on", chat_id, R"(,"onDisconnect":"keep")");
  kept->hang_up();
  loop.advance({60'000});
  EXPECT_EQ(state_of(kept->header("X-Stream-Id")), "streaming");
  const auto refused = turn("Now", chat_id);
  EXPECT_EQ(refused->status, 409) << "a turn that has a reader does not make way";
}

TEST_F(TurnsTest, A_3_a_second_turn_is_refused_with_the_id_of_the_active_one) {  // A-3
  const auto second = turn("Me too", chat_id);
  EXPECT_EQ(second->status, 409);
  EXPECT_EQ(second->slug(), "conversation-busy");
  EXPECT_EQ(second->text("streamId"), run);
  EXPECT_EQ(second->text("messageId"), stream->header("X-Message-Id"));
  EXPECT_FALSE(stream->finished) << "the first one goes on";
}

TEST_F(TurnsTest, A_3_of_two_at_the_same_instant_one_wins) {
  agent_finishes();
  std::vector<Answer> both;
  for (const auto* message : {"a", "b"}) {
    net::Request request{.method = "POST", .path = "/api/assistant/chat/stream"};
    request.headers.add("Authorization", "Bearer " + acme.key);
    request.body = R"({"chatId":")" + chat_id + R"(","message":")" + message + "\"}";
    both.push_back(std::make_shared<FakeExchange>(std::move(request)));
    api->handle(both.back());
  }
  loop.settle();
  std::vector<int> statuses = {both[0]->status, both[1]->status};
  std::ranges::sort(statuses);
  EXPECT_EQ(statuses, (std::vector{200, 409}));
}

TEST_F(TurnsTest, A_turn_without_a_reader_makes_way_for_the_next_at_once) {
  stream->hang_up();
  loop.settle();
  const auto next = turn("Never mind", chat_id);
  EXPECT_EQ(next->status, 200);
  EXPECT_NE(next->header("X-Stream-Id"), run);
  EXPECT_EQ(state_of(run), "cancelled");
  loop.advance({grace.value * 2});
  EXPECT_EQ(state_of(next->header("X-Stream-Id")), "streaming") << "it has a reader of its own";
}

TEST_F(TurnsTest, A_3_failing_frees_the_chat) {
  agent_fails(model::Slug::model_timeout);
  EXPECT_EQ(turn("Again", chat_id)->status, 200);
}

TEST_F(TurnsTest, Stopping_answers_when_nothing_is_at_work_and_ends_the_stream) {
  const auto stopped = post("/api/assistant/chats/" + chat_id + "/stop", "");
  EXPECT_EQ(stopped->status, 200);
  EXPECT_EQ(stopped->body, R"({"streamId":")" + run + R"(","status":"cancelled"})");
  EXPECT_TRUE(stream->finished);
  EXPECT_NE(stream->body.find(R"("code":"run-cancelled")"), std::string::npos);
  const auto again = post("/api/assistant/chats/" + chat_id + "/stop", "");
  EXPECT_EQ(again->status, 409);
  EXPECT_EQ(again->slug(), "run-finished");
}

TEST_F(TurnsTest, No_turn_is_cancelled_for_a_lost_reader_while_the_server_stops) {
  api->begin_drain();
  stream->hang_up();
  loop.advance({grace.value * 2});
  EXPECT_EQ(state_of(run), "streaming");
}

TEST_F(TurnsTest, After_a_restart_a_turn_waits_for_its_readers_and_not_for_ever) {
  make_surfaces({});
  api->adopt_unfinished();
  loop.advance({29'000});
  EXPECT_EQ(state_of(run), "streaming");
  loop.advance({1'000});
  EXPECT_EQ(state_of(run), "cancelled");
}

TEST_F(TurnsTest, A_client_that_reconnects_after_a_restart_keeps_the_turn_running) {
  make_surfaces({});
  api->adopt_unfinished();
  loop.settle();
  const auto back = follow(run);
  loop.advance({60'000});
  EXPECT_EQ(state_of(run), "streaming");
}

TEST_F(TurnsTest, Following_from_any_frame_sends_the_rest_byte_for_byte) {
  agent_says("one ");
  agent_says(R"({"id":"s","name":"bash","status":"running","args":{}})", model::EventKind::step);
  agent_says(R"({"level":"info","text":"for the trace"})", model::EventKind::log);
  agent_says(R"({"id":"s","name":"bash","status":"succeeded","result":"x"})", model::EventKind::step);
  agent_finishes();
  EXPECT_EQ(stream->body.find("for the trace"), std::string::npos);
  EXPECT_EQ(follow(run)->body, stream->body);
  auto rest = stream->body;
  int last = -1;
  for (auto end = rest.find("\n\n"); end + 2 < rest.size(); end = rest.find("\n\n")) {
    rest.erase(0, end + 2);
    EXPECT_EQ(follow(run, "&after=" + std::to_string(++last))->body, rest);
    const auto by_header = ask_as("GET", "/api/assistant/chat/stream?streamId=" + run,
                                  {.key = acme.key, .headers = {{"Last-Event-ID", std::to_string(last)}}});
    EXPECT_EQ(by_header->body, rest);
  }
  EXPECT_EQ(follow(run, "&after=" + std::to_string(last + 1))->status, 204)
      << "204 stops an EventSource from reconnecting";
  EXPECT_EQ(follow(run, "&after=" + std::to_string(last + 2))->status, 422);
  EXPECT_EQ(follow(run, "&after=x")->status, 422);
}

TEST_F(TurnsTest, Only_turns_of_chats_of_the_tenant_can_be_followed) {
  EXPECT_EQ(get("/api/assistant/chat/stream")->status, 422);
  EXPECT_EQ(follow("run_0")->status, 404);
  EXPECT_EQ(follow(ids.make<model::RunId>().text())->status, 404);
  EXPECT_EQ(ask_as("GET", "/api/assistant/chat/stream?streamId=" + run, {.key = other.key})->status, 404);
  agent_finishes();
  const auto plain = send(make_conversation(), "hello");
  EXPECT_EQ(follow(plain->header("X-Run-Id"))->status, 404) << "a host system's conversation is no chat";
}

TEST_F(TurnsTest, A_turn_waits_for_a_slot_and_gets_its_position) {
  make_engine({.max_running = 1});
  make_surfaces({});
  const auto first = turn("one");
  const auto held = turn("two");
  EXPECT_NE(held->body.find("event: queued\ndata: {\"position\":1,"), std::string::npos) << held->body;
  const auto refused = turn("three", "", R"(,"onCapacity":"reject")");
  EXPECT_EQ(refused->status, 429);
  agent_finishes();
  agent_says("Now.");
  EXPECT_NE(held->body.find(R"({"text":"Now."})"), std::string::npos);
}

}  // namespace turns_test
}  // namespace sluice::api
