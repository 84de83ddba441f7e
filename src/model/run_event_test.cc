#include "model/run_event.h"

#include <gtest/gtest.h>

#include <limits>

namespace sluice::model {
namespace run_event_test {

const std::vector<RunEvent>& story() {
  static const auto* const events = new std::vector<RunEvent>{
      {EventKind::accepted, {1'782'986'400'000}, R"({"content":"hi"})"},
      {EventKind::started, {1'782'986'400'001}, ""},
      {EventKind::filler, {1'782'986'400'400}, "One moment — "},
      {EventKind::text, {1'782'986'400'399}, std::string("a\0b", 3)},  // the clock stepped back
      {EventKind::text, {1'782'986'400'399}, std::string(70'000, 'x')},
      {EventKind::usage, {1'782'986'500'000}, R"({"input_tokens":1,"output_tokens":2})"},
      {EventKind::completed, {1'782'986'500'000}, "{}"},
  };
  return *events;
}

// The bytes are on disk: this test fails when the format changes, and then old journals are unreadable.
TEST(JournalBatch, Has_exactly_the_documented_bytes) {
  const std::string bytes = encode_batch({{EventKind::text, {300}, "hé"}, {EventKind::completed, {299}, ""}});
  EXPECT_EQ(bytes, std::string("\x01"
                               "\x03\xd8\x04\x03h\xc3\xa9"
                               "\x08\x01\x00",
                               11));
}

TEST(JournalBatch, Comes_back_as_it_was_written) {
  auto events = decode_batch(encode_batch(story()));
  ASSERT_TRUE(events);
  EXPECT_EQ(events.value(), story());
}

TEST(JournalBatch, May_be_empty) {
  auto events = decode_batch(encode_batch({}));
  ASSERT_TRUE(events);
  EXPECT_TRUE(events.value().empty());
}

TEST(JournalBatch, Is_appended_to_what_is_there) {
  std::string out = "before";
  append_batch(out, story());
  EXPECT_EQ(out, "before" + encode_batch(story()));
}

TEST(JournalBatch, Keeps_every_moment_that_can_be_said) {
  constexpr auto least = std::numeric_limits<int64_t>::min();
  constexpr auto most = std::numeric_limits<int64_t>::max();
  std::vector<RunEvent> events;
  for (const int64_t ms : {most, least, most, int64_t{0}, least, int64_t{-1}, int64_t{1}}) {
    events.push_back({EventKind::log, {ms}, "x"});
  }
  auto read = decode_batch(encode_batch(events));
  ASSERT_TRUE(read);
  EXPECT_EQ(read.value(), events);
}

TEST(JournalBatch, Cut_anywhere_but_between_two_events_is_corrupt) {
  const std::vector<RunEvent> events = {{EventKind::text, {1'000}, "first"}, {EventKind::text, {2'000}, "second"}};
  const std::string bytes = encode_batch(events);
  const std::size_t between = encode_batch({events[0]}).size();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    auto read = decode_batch(std::string_view(bytes).substr(0, size));
    EXPECT_EQ(static_cast<bool>(read), size == 1 || size == between) << size;
    if (!read) EXPECT_EQ(read.error().kind, ErrorKind::corrupt);
  }
}

TEST(JournalBatch, Bytes_that_would_not_have_been_written_are_corrupt) {
  const std::string_view bad[] = {
      "",
      "\x02",                                                                         // another version
      std::string_view("\x01\x00\x00\x00", 4),                                        // kind 0
      std::string_view("\x01\x40\x00\x00", 4),                                        // a kind that does not exist
      std::string_view("\x01\x03\x80\x00\x00", 5),                                    // zero in two bytes
      std::string_view("\x01\x03\x00\x81\x00x", 6),                                   // one in two bytes
      "\x01\x03\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02\x01x",                        // 65 bits
      "\x01\x03\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x01x",                    // 11 bytes
      std::string_view("\x01\x03\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01x", 14),  // a body of 2^64 - 1 bytes
  };
  for (const auto bytes : bad) EXPECT_FALSE(decode_batch(bytes)) << testing::PrintToString(bytes);
}

TEST(JournalBatch, Whatever_is_read_is_written_back_as_the_same_bytes) {
  std::string bytes = encode_batch({story()[0], story()[2], story()[6]});
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(damaged[i] ^ (1 << bit));
      auto read = decode_batch(damaged);
      if (read) EXPECT_EQ(encode_batch(read.value()), damaged);
    }
  }
}

TEST(EventKind, Numbers_never_change) {
  EXPECT_EQ(static_cast<int>(EventKind::accepted), 1);
  EXPECT_EQ(static_cast<int>(EventKind::started), 2);
  EXPECT_EQ(static_cast<int>(EventKind::text), 3);
  EXPECT_EQ(static_cast<int>(EventKind::reasoning), 4);
  EXPECT_EQ(static_cast<int>(EventKind::filler), 5);
  EXPECT_EQ(static_cast<int>(EventKind::log), 6);
  EXPECT_EQ(static_cast<int>(EventKind::usage), 7);
  EXPECT_EQ(static_cast<int>(EventKind::completed), 8);
  EXPECT_EQ(static_cast<int>(EventKind::failed), 9);
  EXPECT_EQ(static_cast<int>(EventKind::cancelled), 10);
}

TEST(EventKind, The_last_three_end_a_run) {
  for (int kind = 1; kind <= 10; ++kind) {
    EXPECT_EQ(is_terminal(static_cast<EventKind>(kind)), kind >= 8);
    EXPECT_NE(name_of(static_cast<EventKind>(kind)), "unknown");
  }
}

}  // namespace run_event_test
}  // namespace sluice::model
