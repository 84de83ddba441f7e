// I-24: the parsing recipe.
#include <gtest/gtest.h>

#include "client/client.h"

namespace sluice::client {
namespace event_stream_test {

std::string line(int64_t seq, std::string_view type, std::string_view data = "{}") {
  return R"({"object":"conversation.event","type":")" + std::string(type) +
         R"(","conversation_id":"con_1","message_id":"msg_1","seq":)" + std::to_string(seq) + R"(,"data":)" +
         std::string(data) + R"(,"created_at":"2026-07-02T10:00:01Z"})";
}

std::string whole_stream() {
  return line(0, "message_start", R"({"role":"assistant"})") + "\n" +
         line(1, "content_delta", R"({"text":"Grüße, 世界 🌊"})") + "\n\n" +
         line(2, "message_end", R"({"message":{"id":"msg_1","status":"completed"}})") + "\n";
}

TEST(EventStream, I_24_Gives_the_same_events_wherever_the_bytes_are_split) {
  const auto bytes = whole_stream();
  for (std::size_t at = 0; at <= bytes.size(); ++at) {
    EventStream stream;
    std::vector<Event> all;
    for (const auto part : {std::string_view(bytes).substr(0, at), std::string_view(bytes).substr(at)}) {
      auto events = stream.feed(part);
      ASSERT_TRUE(events) << events.error().what;
      for (auto& event : events.value()) all.push_back(event);
    }
    ASSERT_EQ(all.size(), 3u) << "split at " << at;
    EXPECT_EQ(all[1].data, R"({"text":"Grüße, 世界 🌊"})");
    EXPECT_EQ(all[2].line, line(2, "message_end", R"({"message":{"id":"msg_1","status":"completed"}})"));
    EXPECT_TRUE(stream.complete());
  }
}

TEST(EventStream, I_24_Byte_by_byte_a_split_code_point_survives) {
  EventStream stream;
  std::string data;
  for (const char byte : whole_stream()) {
    auto events = stream.feed(std::string_view(&byte, 1));
    ASSERT_TRUE(events);
    for (const auto& event : events.value()) data += event.data;
  }
  EXPECT_NE(data.find("世界 🌊"), std::string::npos);
  EXPECT_TRUE(stream.complete());
}

TEST(EventStream, I_24_Is_complete_only_after_the_terminal_and_with_nothing_left_over) {
  const auto bytes = whole_stream();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EventStream stream;
    ASSERT_TRUE(stream.feed(std::string_view(bytes).substr(0, size)));
    EXPECT_FALSE(stream.complete()) << "cut after " << size;
  }
}

TEST(EventStream, I_24_A_gap_is_corrupt_and_stays_so) {
  EventStream stream;
  const auto gap = stream.feed(line(0, "message_start") + "\n" + line(2, "content_delta") + "\n");
  ASSERT_FALSE(gap);
  EXPECT_EQ(gap.error().kind, ErrorKind::corrupt);
  EXPECT_EQ(gap.error().what, "expected seq 1, got 2");
  EXPECT_EQ(stream.next_seq(), 0) << "no event of those bytes was delivered";
  EXPECT_FALSE(stream.feed(line(0, "message_start") + "\n"));
  EXPECT_FALSE(stream.complete());
}

TEST(EventStream, I_24_An_unknown_type_counts_in_seq) {
  EventStream stream;
  const auto events =
      stream.feed(line(0, "message_start") + "\n" + line(1, "telepathy") + "\n" + line(2, "error") + "\n");
  ASSERT_TRUE(events);
  EXPECT_EQ(events.value().size(), 3u);
  EXPECT_TRUE(events.value()[2].terminal());
  EXPECT_TRUE(stream.complete());
}

TEST(EventStream, I_24_Nothing_but_blank_lines_may_follow_the_terminal) {
  EventStream stream;
  ASSERT_TRUE(stream.feed(line(0, "error") + "\n\n  \r\n"));
  EXPECT_TRUE(stream.complete());
  EXPECT_FALSE(stream.feed(line(1, "content_delta") + "\n"));
  EXPECT_FALSE(stream.complete());
}

TEST(EventStream, Tolerates_a_carriage_return_before_the_newline) {
  EventStream stream;
  const auto events = stream.feed(line(0, "message_start") + "\r\n\r\n" + line(1, "message_end") + "\r\n");
  ASSERT_TRUE(events);
  EXPECT_EQ(events.value().size(), 2u);
  EXPECT_EQ(events.value()[0].line, line(0, "message_start"));
}

TEST(EventStream, Refuses_lines_that_are_not_events) {
  for (const auto* bad : {"{\"type\":\"content_delta\",\"se\n", "{}\n", "[]\n", "7\n",
                          "{\"type\":\"x\",\"seq\":\"0\"}\n", "{\"seq\":0}\n", "{\"type\":\"\xff\",\"seq\":0}\n"}) {
    EventStream stream;
    EXPECT_FALSE(stream.feed(bad)) << bad;
  }
}

TEST(EventStream, A_line_without_end_is_given_up_at_the_limit) {
  EventStream stream;
  ASSERT_TRUE(stream.feed(std::string(line_bytes_max, 'x')));
  EXPECT_FALSE(stream.feed("x"));
}

TEST(EventStream, A_stream_starts_at_the_given_position) {
  EventStream stream(7);
  EXPECT_TRUE(stream.feed(line(7, "content_delta") + "\n"));
  EXPECT_EQ(stream.next_seq(), 8);
}

}  // namespace event_stream_test
}  // namespace sluice::client
