#include "net/outbox.h"

#include <gtest/gtest.h>

#include "net/http_head.h"

namespace sluice::net {
namespace outbox_test {

SharedBytes shared(std::string text) { return std::make_shared<const std::string>(std::move(text)); }

// Sends as a socket that takes `at_most` bytes at a time would.
std::string sent_by(Outbox& outbox, std::size_t at_most, std::size_t vectors_max = 64) {
  std::string out;
  while (!outbox.empty()) {
    std::vector<iovec> vectors(vectors_max);
    vectors.resize(outbox.fill(vectors));
    std::string offered;
    for (const auto& [data, size] : vectors) offered.append(static_cast<const char*>(data), size);
    offered.resize(std::min(offered.size(), at_most));
    out += offered;
    outbox.consume(offered.size());
  }
  return out;
}

TEST(Outbox, Bytes_that_others_hold_too_are_not_its_own) {
  const SharedBytes common = shared(std::string(3000, 'c'));
  Outbox outbox;
  outbox.add_text("12345");
  outbox.add_shared(common);
  outbox.add_shared(shared(std::string(2000, 'o')));
  EXPECT_EQ(outbox.size(), 5005u);
  EXPECT_EQ(outbox.own_size(), 2005u);
  Outbox other;
  outbox.move_front(5 + 3000 + 1500, other);
  EXPECT_EQ(outbox.own_size(), 500u);
  EXPECT_EQ(other.own_size(), 1505u);
  other.consume(5 + 3000 + 1000);
  EXPECT_EQ(other.own_size(), 500u);
  sent_by(outbox, 100);
  sent_by(other, 100);
  EXPECT_EQ(outbox.own_size() + other.own_size(), 0u);
}

TEST(Outbox, Pieces_go_to_another_in_order_however_they_are_cut) {
  for (const std::size_t at_once : {1, 9, 700, 1024, 1025, 5000}) {
    Outbox from;
    std::string expected;
    for (const std::size_t size : {10, 2000, 1, 1024, 4000, 3}) {
      const std::string text(size, static_cast<char>('a' + size % 26));
      from.add_text("text ");
      from.add_shared(shared(text));
      expected += "text " + text;
    }
    Outbox to;
    to.add_text("before ");
    while (!from.empty()) from.move_front(std::min(at_once, from.size()), to);
    EXPECT_EQ(to.size(), 7 + expected.size());
    EXPECT_EQ(sent_by(to, 333), "before " + expected) << at_once;
  }
}

TEST(Outbox, Sends_the_same_bytes_however_few_the_socket_takes) {
  for (const std::size_t at_most : {1, 2, 3, 7, 1000}) {
    Outbox outbox;
    outbox.add_text("HTTP/1.1 200 OK\r\n\r\n");
    for (int i = 0; i < 200; ++i) outbox.add_chunk(shared("chunk " + std::to_string(i)));
    outbox.add_text("0\r\n\r\n");
    outbox.add_shared(shared(std::string(300, 'x')));
    std::string expected = "HTTP/1.1 200 OK\r\n\r\n";
    for (int i = 0; i < 200; ++i) {
      const std::string chunk = "chunk " + std::to_string(i);
      expected += std::string(1, "0123456789abcdef"[chunk.size()]) + "\r\n" + chunk + "\r\n";
    }
    expected += "0\r\n\r\n" + std::string(300, 'x');
    EXPECT_EQ(outbox.size(), expected.size());
    EXPECT_EQ(sent_by(outbox, at_most, 5), expected);
  }
}

TEST(Outbox, Shared_bytes_are_not_copied_and_are_released_when_sent) {
  Outbox outbox;
  const SharedBytes bytes = shared("payload");
  outbox.add_chunk(bytes);
  iovec vectors[8];
  ASSERT_EQ(outbox.fill(vectors), 3u);
  EXPECT_EQ(vectors[1].iov_base, bytes->data());
  outbox.consume(3 + 7);  // "7\r\n" and the payload
  EXPECT_EQ(bytes.use_count(), 1);
  EXPECT_EQ(outbox.size(), 2u);
}

TEST(Outbox, Gathers_the_framing_between_two_chunks_in_one_piece) {
  Outbox outbox;
  outbox.add_chunk(shared("a"));
  outbox.add_chunk(shared("b"));
  iovec vectors[8];
  EXPECT_EQ(outbox.fill(vectors), 5u);
}

TEST(Head, Says_what_the_facts_say) {
  DateLine date;
  const auto head = [&](HeadFacts facts, const Headers& headers) {
    std::string out;
    facts.now = {784'111'777'000};
    append_head(out, facts, headers, date);
    return out;
  };
  EXPECT_EQ(head({.status = 200, .length = 5}, {{"Content-Type", "text/plain"}}),
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Length: "
            "5\r\n\r\n");
  EXPECT_EQ(head({.status = 404, .framing = Framing::chunked, .persistence = Persistence::close}, {}),
            "HTTP/1.1 404 Not Found\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nTransfer-Encoding: "
            "chunked\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(head({.status = 204, .framing = Framing::none, .persistence = Persistence::keep_alive}, {}),
            "HTTP/1.1 204 No Content\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nConnection: keep-alive\r\n\r\n");
}

TEST(Head, A_value_cannot_forge_a_field_and_our_own_fields_are_ours) {
  DateLine date;
  std::string out;
  append_head(out, {.length = 0}, {{"X", "a\r\nSet-Cookie: b"}, {"content-LENGTH", "7"}, {"Transfer-Encoding", "x"}},
              date);
  EXPECT_NE(out.find("X: a  Set-Cookie: b\r\n"), std::string::npos);
  EXPECT_EQ(out.find("content-LENGTH"), std::string::npos);
  EXPECT_EQ(out.find("Transfer-Encoding"), std::string::npos);
}

}  // namespace outbox_test
}  // namespace sluice::net
