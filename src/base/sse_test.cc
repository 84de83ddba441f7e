#include "base/sse.h"

#include <gtest/gtest.h>

#include "base/limits.h"

namespace sluice {
namespace sse_test {

// "type|data|id" of each event, for reading.
std::vector<std::string> events_of(SseReader& reader, std::string_view bytes) {
  auto events = reader.feed(bytes);
  if (!events) return {"refused"};
  std::vector<std::string> out;
  for (const auto& event : events.value()) out.push_back(event.type + "|" + event.data + "|" + event.id);
  return out;
}

std::vector<std::string> events_of(std::string_view bytes) {
  SseReader reader;
  return events_of(reader, bytes);
}

using Lines = std::vector<std::string>;

TEST(Sse, An_event_ends_with_a_blank_line) {
  EXPECT_EQ(events_of("data: hello\n\n"), (Lines{"message|hello|"}));
  EXPECT_EQ(events_of("data: hello\n"), Lines{});
  EXPECT_EQ(events_of("event: delta\ndata: a\nid: 7\n\ndata: b\n\n"), (Lines{"delta|a|7", "message|b|7"}));
}

TEST(Sse, Lines_of_data_are_joined) {
  EXPECT_EQ(events_of("data: a\ndata: b\ndata\ndata:\n\n"), (Lines{"message|a\nb\n\n|"}));
}

TEST(Sse, One_blank_after_the_colon_is_dropped) {
  EXPECT_EQ(events_of("data:a\n\ndata: a\n\ndata:  a\n\n"), (Lines{"message|a|", "message|a|", "message| a|"}));
}

TEST(Sse, Lines_end_with_CR_LF_or_both) {
  const Lines expected = {"x|a\nb|", "message|c|"};
  EXPECT_EQ(events_of("event: x\ndata: a\ndata: b\n\ndata: c\n\n"), expected);
  EXPECT_EQ(events_of("event: x\rdata: a\rdata: b\r\rdata: c\r\r"), expected);
  EXPECT_EQ(events_of("event: x\r\ndata: a\r\ndata: b\r\n\r\ndata: c\r\n\r\n"), expected);
}

TEST(Sse, Comments_unknown_fields_and_events_without_data_say_nothing) {
  EXPECT_EQ(events_of(": keep-alive\n\nretry: 5\nfoo: bar\nevent: x\n\ndata: a\n\n"), (Lines{"message|a|"}));
}

TEST(Sse, A_byte_order_mark_is_skipped_at_the_start_only) {
  EXPECT_EQ(events_of("\xef\xbb\xbf"
                      "data: a\n\n"),
            (Lines{"message|a|"}));
  EXPECT_EQ(events_of("data: a\n\n\xef\xbb\xbf"
                      "data: b\n\n"),
            (Lines{"message|a|"}));
}

TEST(Sse, An_id_with_a_NUL_is_ignored) {
  EXPECT_EQ(events_of(std::string_view("id: a\0b\ndata: x\n\n", 17)), (Lines{"message|x|"}));
}

TEST(Sse, Says_where_and_after_which_time_a_stream_is_resumed) {
  SseReader reader;
  EXPECT_EQ(reader.retry_ms(), std::nullopt);
  EXPECT_EQ(events_of(reader, "id: 7\nretry: 500\n\n"), Lines{}) << "an event without data";
  EXPECT_EQ(reader.last_id(), "7");
  EXPECT_EQ(reader.retry_ms(), 500);
  for (const auto* wrong : {"soon", "-1", "1.5", "", "10000000000000000000000"}) {
    (void)events_of(reader, "retry: " + std::string(wrong) + "\n\n");
    EXPECT_EQ(reader.retry_ms(), 500) << wrong;
  }
}

TEST(Sse, Every_split_gives_the_same_events) {
  const std::string stream =
      "\xef\xbb\xbf: hi\r\nevent: content\r\nid: 1\r\ndata: {\"text\":\"é€😀\"}\r\n\r\n"
      "data: a\rdata: b\r\r\ndata:c\n\n\nevent: end\ndata\n\n";
  const Lines whole = events_of(stream);
  ASSERT_EQ(whole.size(), 4U);
  for (std::size_t first = 0; first <= stream.size(); ++first) {
    for (std::size_t second = first; second <= stream.size(); ++second) {
      SseReader reader;
      Lines pieces = events_of(reader, std::string_view(stream).substr(0, first));
      for (auto& line : events_of(reader, std::string_view(stream).substr(first, second - first)))
        pieces.push_back(line);
      for (auto& line : events_of(reader, std::string_view(stream).substr(second))) pieces.push_back(line);
      ASSERT_EQ(pieces, whole) << first << " " << second;
    }
  }
}

TEST(Sse, A_line_without_end_is_refused_at_the_limit) {
  SseReader reader;
  EXPECT_EQ(events_of(reader, std::string(limits::provider_line_bytes_max, 'x')), Lines{});
  EXPECT_EQ(events_of(reader, "x"), Lines{"refused"});
}

TEST(Sse, An_event_without_end_is_refused_at_the_limit) {
  SseReader reader;
  const std::string line = "data: " + std::string(limits::provider_line_bytes_max / 4, 'x') + "\n";
  for (int i = 0; i < 3; ++i) EXPECT_EQ(events_of(reader, line), Lines{});
  EXPECT_EQ(events_of(reader, line), Lines{"refused"});
}

}  // namespace sse_test
}  // namespace sluice
