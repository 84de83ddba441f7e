// A stream of events that a server of MCP closes, forgets, or never stops: H-6.
#include "tools/mcp_events.h"

#include "tools/toolbox_fixture.h"

namespace sluice::tools {
namespace mcp_events_test {

using net::CallFailure;
using net::FakeAnswer;
using Lines = std::vector<std::string>;

class McpEventsTest : public ToolboxTest, private McpEventsListener {
 protected:
  McpEventsTest() { open(); }
  ~McpEventsTest() override { events.reset(); }

  void begin(McpCursor cursor = {}, bool waits = false) {
    McpEventsListener& self = *this;
    const McpEvents::Bounds bounds{.until_us = loop.monotonic_us() + 60'000'000, .bytes_max = bytes_max};
    events = std::make_unique<McpEvents>(*context,
                                         net::ClientRequest{.method = "GET STREAM", .url = "https://mcp.example/mcp"},
                                         std::move(cursor), bounds, waits, self);
    loop.settle();
  }
  static FakeAnswer stream(std::string bytes) { return FakeAnswer().head(200, stream_type()).piece(std::move(bytes)); }
  void on_mcp_event(std::string_view json) override { heard.emplace_back(json); }
  void on_mcp_events_end(McpEventsEnd its, std::string why) override {
    ended = its;
    heard.push_back("end: " + why);
  }

  std::unique_ptr<McpEvents> events;
  std::size_t bytes_max = 1'000;
  Lines heard;
  std::optional<McpEventsEnd> ended;
};

TEST_F(McpEventsTest, A_stream_that_ends_is_opened_again_where_it_ended_after_the_time_that_the_server_names) {
  client.answer(stream("retry: 500\nid: e-1\ndata:\n\nid: e-2\ndata: {\"n\":1}\n\n").finish());
  client.answer(stream("id: e-3\n\ndata: {\"n\":2}\n\n").fail(CallFailure::cut, "reset"));
  client.answer(stream("data: {\"n\":3}\n\n"));
  begin();
  EXPECT_EQ(heard, (Lines{R"({"n":1})"})) << "an event without data is no message";
  EXPECT_EQ(header(0, "last-event-id"), "(none)");
  EXPECT_EQ(header(0, "accept"), "text/event-stream");
  loop.advance(Millis{499});
  EXPECT_EQ(client.requests.size(), 1u);
  loop.advance(Millis{1});
  ASSERT_EQ(client.requests.size(), 2u);
  EXPECT_EQ(header(1, "last-event-id"), "e-2");
  loop.advance(Millis{500});
  ASSERT_EQ(client.requests.size(), 3u);
  EXPECT_EQ(header(2, "last-event-id"), "e-3");
  EXPECT_EQ(heard, (Lines{R"({"n":1})", R"({"n":2})", R"({"n":3})"}));
  EXPECT_FALSE(ended);
}

TEST_F(McpEventsTest, The_time_between_two_streams_has_bounds_whatever_the_server_names) {
  for (const auto& [named, ms] : std::vector<std::pair<int64_t, int64_t>>{{0, 100}, {999'999'999, 60'000}}) {
    client.requests.clear();
    begin({.last_id = "e-1", .retry_ms = named}, true);
    loop.advance(Millis{ms - 1});
    EXPECT_TRUE(client.requests.empty()) << named;
    loop.advance(Millis{1});
    EXPECT_EQ(client.requests.size(), 1u) << named;
  }
}

TEST_F(McpEventsTest, A_server_without_such_a_stream_is_asked_once) {
  client.answer(FakeAnswer::whole(405, "no"));
  begin();
  EXPECT_EQ(ended, McpEventsEnd::not_offered);
  EXPECT_EQ(heard, (Lines{"end: it answered GET with status 405"}));
  events->keep_until(loop.monotonic_us() + 600'000'000);
  loop.advance(Millis{600'000});
  EXPECT_EQ(client.requests.size(), 1u);
}

TEST_F(McpEventsTest, A_server_that_is_not_there_is_given_up_until_it_is_wanted_again) {
  begin();
  loop.advance(Millis{60'000});
  EXPECT_EQ(ended, McpEventsEnd::interrupted);
  EXPECT_EQ(client.requests.size(), static_cast<std::size_t>(mcp_idle_openings_max));
  EXPECT_EQ(heard, (Lines{"end: Connection refused"}));
  client.answer(stream("data: {\"n\":1}\n\n"));
  events->keep_until(loop.monotonic_us() + 60'000'000);
  loop.settle();
  EXPECT_EQ(heard.back(), R"({"n":1})");
}

TEST_F(McpEventsTest, A_stream_ends_with_its_time) {
  client.answer(stream("data: {\"n\":1}\n\n"));
  begin();
  loop.advance(Millis{60'000});
  EXPECT_EQ(ended, McpEventsEnd::interrupted);
  EXPECT_EQ(client.calls_in_flight(), 0u);
  EXPECT_EQ(loop.timer_count(), 0u);
}

TEST_F(McpEventsTest, What_is_too_long_is_not_heard_any_more) {
  const std::string event = "id: e\ndata: \"" + std::string(400, 'x') + "\"\n\n";
  for (int i = 0; i < 3; ++i) client.answer(stream(event).finish());
  begin();
  loop.advance(Millis{10'000});
  EXPECT_EQ(ended, McpEventsEnd::broken);
  ASSERT_EQ(heard.size(), 3u) << "the bound is for all streams together";
  EXPECT_EQ(heard[2], "end: it sent more than 1000 bytes of events");
  events->keep_until(loop.monotonic_us() + 600'000'000);
  loop.settle();
  EXPECT_EQ(client.requests.size(), 3u);
}

TEST_F(McpEventsTest, An_id_that_cannot_stand_in_a_header_is_not_sent) {
  bytes_max = 10'000;
  client.answer(stream("id: " + std::string(2'000, 'x') + "\ndata: 1\n\n").finish());
  client.answer(stream("id: a\tb\x01\ndata: 2\n\n").finish());
  client.answer(stream(""));
  begin();
  loop.advance(Millis{5'000});
  ASSERT_EQ(client.requests.size(), 3u);
  EXPECT_EQ(header(1, "last-event-id"), "(none)");
  EXPECT_EQ(header(2, "last-event-id"), "(none)");
}

}  // namespace mcp_events_test
}  // namespace sluice::tools
