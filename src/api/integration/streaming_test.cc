#include "api/answers/streaming.h"

#include "api/api_fixture.h"

namespace sluice::api {
namespace streaming_test {

class StreamingTest : public ApiTest {
 protected:
  StreamingTest() : conversation(make_conversation()), stream(send(conversation, "hello")) {
    events = "/v1/messages/" + stream->header("X-Message-Id") + "/events";
  }
  Answer get_sse(const std::string& target, net::Headers more = {}) {
    more.add("Accept", "text/event-stream");
    return ask_as("GET", target, {.key = acme.key, .headers = std::move(more)});
  }

  std::string conversation;
  Answer stream;
  std::string events;
};

TEST_F(StreamingTest, A_caller_who_leaves_does_not_stop_the_run_I_8) {
  stream->hang_up();
  loop.settle();
  const auto received = stream->body;
  agent_says("After the client left.");
  agent_finishes();
  EXPECT_EQ(stream->body, received);
  EXPECT_TRUE(logged("answer=caller left"));
  EXPECT_NE(get("/v1/conversations/" + conversation + "/messages")->body.find("After the client left."),
            std::string::npos);
}

TEST_F(StreamingTest, A_caller_who_left_before_the_stream_began_is_forgotten) {
  net::Request request{.method = "GET", .path = events, .headers = {{"Authorization", "Bearer " + acme.key}}};
  const auto exchange = std::make_shared<FakeExchange>(request);
  api->handle(exchange);
  exchange->hang_up();
  loop.settle();
  EXPECT_EQ(exchange.use_count(), 1) << "nothing holds on to it";
  EXPECT_EQ(exchange->body, "");
}

TEST_F(StreamingTest, Nothing_holds_on_to_a_stream_that_is_over) {
  EXPECT_GT(stream.use_count(), 1);
  agent_finishes();
  EXPECT_TRUE(stream->finished);
  EXPECT_EQ(stream.use_count(), 1);
}

TEST_F(StreamingTest, The_surfaces_may_end_while_streams_are_open) {
  agent_says("Hi");
  api.reset();
  EXPECT_FALSE(stream->finished);
  EXPECT_EQ(stream.use_count(), 1);
  stream->hang_up();
  agent_finishes();
}

TEST_F(StreamingTest, A_slow_reader_holds_no_more_than_its_share_and_misses_nothing) {
  const auto fast = get(events);
  stream->stop_reading();
  const std::string piece(64 * 1024, 'x');
  for (int i = 0; i < 20; ++i) agent_says(piece);
  EXPECT_LT(stream->body.size(), limits::stream_unsent_bytes_max + 4 * piece.size());
  agent_finishes();
  EXPECT_FALSE(stream->finished);
  while (!stream->finished) {
    const auto before = stream->body.size();
    stream->read_again();
    loop.settle();
    ASSERT_TRUE(stream->finished || stream->body.size() > before) << "the reader is stuck";
  }
  EXPECT_EQ(stream->body, fast->body);
}

TEST_F(StreamingTest, A_stream_whose_journal_is_lost_is_cut_not_ended) {
  for (int n = 0; n < 1'000; ++n) disk.fail_write(n, store::Fault::before_write);
  agent.listener->on_event({model::EventKind::text, loop.now(), "never durable"});
  loop.settle();
  EXPECT_FALSE(stream->aborted) << "the store may come back";
  loop.advance({120'000});
  EXPECT_FALSE(stream->finished);
  EXPECT_TRUE(stream->aborted);
  EXPECT_EQ(stream->body.find("never durable"), std::string::npos);
  EXPECT_EQ(stream.use_count(), 1);
}

TEST_F(StreamingTest, A_failure_after_the_head_is_a_terminal_event_I_4) {
  agent_fails(model::Slug::model_error);
  EXPECT_EQ(stream->status, 200);
  EXPECT_TRUE(stream->finished);
  EXPECT_NE(stream->body.find(R"("type":"error")"), std::string::npos);
  EXPECT_NE(stream->body.find("http://test/problems/model-error"), std::string::npos);
}

TEST_F(StreamingTest, A_reader_comes_back_at_any_seq_and_reads_the_rest_I_8) {
  agent_says("One ");
  agent_says("two.");
  const auto live = get(events + "?after=1");
  EXPECT_EQ(live->status, 200);
  EXPECT_EQ(live->header("Content-Type"), "application/x-ndjson");
  EXPECT_EQ(live->header("X-Run-Id"), stream->header("X-Run-Id"));
  agent_finishes();
  std::string rest = stream->body;
  for (int after = -1; after <= 3; ++after) {
    const auto again = get(events + (after < 0 ? "" : "?after=" + std::to_string(after)));
    EXPECT_EQ(again->body, rest) << after;
    EXPECT_TRUE(again->finished);
    if (after == 1) {
      EXPECT_EQ(live->body, rest);
    }
    rest.erase(0, rest.find('\n') + 1);
  }
}

TEST_F(StreamingTest, A_seq_beyond_the_last_event_is_422_before_the_stream_begins) {
  agent_says("One");  // seq 1
  EXPECT_EQ(get(events + "?after=1")->status, 200);
  const auto beyond = get(events + "?after=2");
  EXPECT_EQ(beyond->status, 422);
  EXPECT_NE(beyond->body.find(R"("pointer":"after")"), std::string::npos);
  agent_finishes();  // seq 2
  EXPECT_EQ(get(events + "?after=2")->body, "");
  for (const auto& after : Texts{"3", "-1", "x", "", "9223372036854775807", "99999999999999999999", "1.0"}) {
    EXPECT_EQ(get(events + "?after=" + after)->status, 422) << after;
  }
}

TEST_F(StreamingTest, Messages_of_the_user_have_no_events) {
  const auto list = json::Document::parse(get("/v1/conversations/" + conversation + "/messages?limit=1")->body);
  std::string user_message;
  list.value().root().find("data")->each_element([&](json::Value row) { user_message = *row.find("id")->string(); });
  EXPECT_EQ(get("/v1/messages/" + user_message)->status, 200);
  const auto answer = get("/v1/messages/" + user_message + "/events");
  EXPECT_EQ(answer->status, 404);
  EXPECT_EQ(answer->text("detail"), "A message of the user has no events; the answer to it has.");
  const auto missing = get("/v1/messages/msg_00000000000000000000000000/events");
  EXPECT_EQ(missing->text("detail"), "There is no such message.");
}

TEST_F(StreamingTest, An_event_source_that_has_the_last_event_gets_204) {
  const auto of_last = [&] { return get_sse(events, {{"Last-Event-ID", "1"}}); };
  agent_says("Hi");  // seq 1
  EXPECT_EQ(of_last()->status, 200) << "more is to come";
  agent_finishes();  // seq 2
  EXPECT_EQ(of_last()->status, 200) << "the end is still to be sent";
  const auto over = get_sse(events + "?after=2");
  EXPECT_EQ(over->status, 204);
  EXPECT_EQ(over->body, "");
  EXPECT_TRUE(over->finished);
  const auto lines = get(events + "?after=2");
  EXPECT_EQ(lines->status, 200);
  EXPECT_EQ(lines->body, "");
}

TEST_F(StreamingTest, Who_prefers_server_sent_events_gets_them) {
  agent_says("Hi");
  const auto sse = get_sse(events);
  EXPECT_EQ(sse->header("Content-Type"), "text/event-stream");
  EXPECT_TRUE(sse->body.starts_with("id: 0\nevent: message_start\ndata: {\"object\":\"conversation.event\""));
  EXPECT_NE(sse->body.find("id: 1\nevent: content_delta\ndata: "), std::string::npos);
  agent_finishes();
  EXPECT_TRUE(sse->finished);
  EXPECT_TRUE(sse->body.ends_with("}\n\n"));
  const auto rest = get_sse(events, {{"Last-Event-ID", "1"}});
  EXPECT_TRUE(rest->body.starts_with("id: 2\nevent: message_end\n"));
  EXPECT_TRUE(get_sse(events + "?after=0", {{"Last-Event-ID", "1"}})->body.starts_with("id: 1\n"));
  EXPECT_EQ(get_sse(events, {{"Last-Event-ID", "x"}})->status, 422);
  EXPECT_EQ(get_sse(events, {{"Last-Event-ID", "7"}})->status, 422);
}

TEST_F(StreamingTest, The_form_follows_what_Accept_likes_best) {
  const auto type_for = [&](const std::string& accept) {
    return ask_as("GET", events, {.key = acme.key, .headers = {{"Accept", accept}}})->header("Content-Type");
  };
  EXPECT_EQ(type_for("*/*"), "application/x-ndjson");
  EXPECT_EQ(type_for("application/json"), "application/x-ndjson");
  EXPECT_EQ(type_for("Text/Event-Stream, */*;q=0.1"), "text/event-stream");
  EXPECT_EQ(type_for("text/event-stream;q=0.5, application/x-ndjson"), "application/x-ndjson");
  EXPECT_EQ(type_for("application/x-ndjson;q=0.5, text/event-stream ; q=0.9"), "text/event-stream");
  EXPECT_EQ(type_for("text/event-stream;q=0"), "application/x-ndjson");
}

TEST_F(StreamingTest, Only_a_quiet_event_stream_is_kept_alive_with_comments) {
  const auto sse = get_sse(events);
  const auto ndjson = get(events);
  loop.advance({10'000});
  agent_says("Hi");
  const auto told_more = sse->body;
  loop.advance({14'000});
  EXPECT_EQ(sse->body, told_more) << "not quiet for long enough";
  loop.advance({1'000});
  EXPECT_EQ(sse->body, told_more + ": keep-alive\n\n");
  loop.advance({15'000});
  EXPECT_EQ(sse->body, told_more + ": keep-alive\n\n: keep-alive\n\n");
  EXPECT_EQ(count_lines(ndjson->body), 2U);
  agent_finishes();
  EXPECT_TRUE(sse->finished);
  loop.advance({60'000});
  EXPECT_EQ(sse.use_count(), 1);
}

TEST_F(StreamingTest, HEAD_gets_the_head_and_reads_nothing) {
  const auto head = ask_as("HEAD", events, {.key = acme.key});
  EXPECT_EQ(head->status, 200);
  EXPECT_EQ(head->header("Content-Type"), "application/x-ndjson");
  EXPECT_TRUE(head->finished);
  EXPECT_EQ(head->body, "");
}

}  // namespace streaming_test
}  // namespace sluice::api
