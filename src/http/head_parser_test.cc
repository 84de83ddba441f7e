#include "http/head_parser.h"

#include <gtest/gtest.h>

#include "http/head.h"

namespace sluice::http {
namespace head_parser_test {

constexpr HeadLimits limits{.line_bytes_max = 1000, .header_bytes_max = 2000, .header_count_max = 200};

// The fault, if there is one. The whole and each split in two must give the same, and take as much.
template <typename Head>
std::optional<Fault> read(std::string_view text, Head& out, const HeadLimits& within = limits) {
  HeadParser<Head> whole(within);
  const std::size_t taken = whole.feed(text);
  for (std::size_t at = 1; at < text.size(); ++at) {
    HeadParser<Head> split(within);
    std::size_t split_taken = split.feed(text.substr(0, at));
    split_taken += split.feed(text.substr(split_taken));
    EXPECT_EQ(split.done(), whole.done()) << "split at " << at << " of " << text;
    EXPECT_EQ(split.fault().has_value(), whole.fault().has_value()) << "split at " << at << " of " << text;
    if (whole.done()) EXPECT_EQ(split_taken, taken) << "split at " << at << " of " << text;
  }
  out = whole.head();
  if (whole.fault() || whole.done()) return whole.fault();
  return Fault{.detail = "unfinished"};
}

std::optional<Fault::Kind> fault_of(std::string_view text, const HeadLimits& within = limits) {
  RequestHead head;
  const auto fault = read(text, head, within);
  return fault ? std::optional(fault->kind) : std::nullopt;
}

TEST(HeadParser, Takes_a_request_apart) {
  RequestHead head;
  ASSERT_FALSE(read("GET http://a.test/x?y HTTP/1.1\r\nHost: a.test\r\nX-Y:  z \r\nEmpty:\r\n\r\n", head));
  EXPECT_EQ(head.method, "GET");
  EXPECT_EQ(head.target, "http://a.test/x?y");
  EXPECT_EQ(*head.headers.find("x-y"), "z");
  EXPECT_EQ(*head.headers.find("empty"), "");
}

// I-17: what a proxy and a server could read in two ways is how a request is smuggled.
TEST(HeadParser, Refuses_what_can_be_read_in_two_ways) {
  EXPECT_EQ(fault_of("GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n"), std::nullopt);
  EXPECT_EQ(fault_of("GET http://a/ HTTP/1.1\nHost: a\r\n\r\n"), Fault::Kind::malformed) << "bare LF";
  EXPECT_EQ(fault_of("GET http://a/ HTTP/1.1\r\nHost: a\rX: y\r\n\r\n"), Fault::Kind::malformed) << "bare CR";
  EXPECT_EQ(fault_of("GET http://a/ HTTP/1.1\r\nHost : a\r\n\r\n"), Fault::Kind::malformed) << "blank before the colon";
  EXPECT_EQ(fault_of("GET http://a/ HTTP/1.1\r\nX: a\r\n folded\r\n\r\n"), Fault::Kind::malformed) << "obs-fold";
  EXPECT_EQ(fault_of("GET http://a/ HTTP/1.1\r\n X: a\r\n\r\n"), Fault::Kind::malformed) << "fold before any field";
  EXPECT_EQ(fault_of("GET http://a/ HTTP/1.1\r\nno colon\r\n\r\n"), Fault::Kind::malformed);
  EXPECT_EQ(fault_of(std::string_view("GET http://a/ HTTP/1.1\r\nX: a\0b\r\n\r\n", 37)), Fault::Kind::malformed)
      << "NUL";
  EXPECT_EQ(fault_of("GET http://a/ x HTTP/1.1\r\n\r\n"), Fault::Kind::malformed) << "a blank in the target";
  EXPECT_EQ(fault_of("GET http://a/#top HTTP/1.1\r\n\r\n"), Fault::Kind::malformed) << "a fragment";
  EXPECT_EQ(fault_of("G(T http://a/ HTTP/1.1\r\n\r\n"), Fault::Kind::malformed);
  EXPECT_EQ(fault_of("GET http://a/ HTTP/2.0\r\n\r\n"), Fault::Kind::unknown_version);
  EXPECT_EQ(fault_of("GET http://a/ http/1.1\r\n\r\n"), Fault::Kind::unreadable_version);
}

TEST(HeadParser, Refuses_more_fields_than_there_may_be) {
  std::string text = "GET http://a/ HTTP/1.1\r\n";
  for (std::size_t i = 0; i < limits.header_count_max; ++i) text += "A: b\r\n";
  EXPECT_EQ(fault_of(text + "\r\n"), std::nullopt);
  EXPECT_EQ(fault_of(text + "A: b\r\n\r\n"), Fault::Kind::large_headers);
}

TEST(HeadParser, Takes_nothing_beyond_the_empty_line) {
  HeadParser<RequestHead> parser(limits);
  EXPECT_EQ(parser.feed("GET / HTTP/1.1\r\nA: b\r\n\r\n\r\nGET "), 24u);
  EXPECT_TRUE(parser.done());
  EXPECT_EQ(parser.feed("more"), 0u);
}

TEST(HeadParser, Skips_one_empty_line_before_a_request_and_none_before_an_answer) {
  RequestHead request;
  EXPECT_FALSE(read("\r\nGET / HTTP/1.1\r\n\r\n", request));
  EXPECT_TRUE(read("\r\n\r\nGET / HTTP/1.1\r\n\r\n", request));
  ResponseHead response;
  EXPECT_TRUE(read("\r\nHTTP/1.1 200 OK\r\n\r\n", response));
}

TEST(HeadParser, Refuses_at_once_what_cannot_become_a_message) {
  HeadParser<RequestHead> parser(limits);
  parser.feed("\x16");
  EXPECT_TRUE(parser.fault());
}

TEST(HeadParser, Holds_each_limit_exactly) {
  const HeadLimits small{.line_bytes_max = 16, .header_bytes_max = 10, .header_count_max = 2, .head_bytes_max = 31};
  EXPECT_EQ(fault_of("GET /a HTTP/1.1\r\n\r\n", small), std::nullopt);
  EXPECT_EQ(fault_of("GET /abc HTTP/1.1\r\n\r\n", small), Fault::Kind::long_line);
  EXPECT_EQ(fault_of("GET / HTTP/1.1\r\nA: 1\r\nB: 22\r\n\r\n", {.line_bytes_max = 16, .header_bytes_max = 9}),
            std::nullopt);
  EXPECT_EQ(fault_of("GET / HTTP/1.1\r\nA: 1\r\nB: 333\r\n\r\n", {.line_bytes_max = 16, .header_bytes_max = 9}),
            Fault::Kind::large_headers);
  EXPECT_EQ(fault_of("GET / HTTP/1.1\r\nA: 1\r\nB: 222\r\n\r\n", small), Fault::Kind::large_headers)
      << "one byte too many";
  EXPECT_EQ(fault_of("GET / HTTP/1.1\r\nA: 1\r\nB: 2\r\n\r\n", small), std::nullopt) << "as many as there may be";
  EXPECT_EQ(fault_of("GET / HTTP/1.1\r\nA:\r\nB:\r\nC:\r\n\r\n", small), Fault::Kind::large_headers);
}

TEST(HeadParser, A_connection_lasts_unless_one_side_says_otherwise) {
  const auto lasts = [](const std::string& version, const std::string& field) {
    RequestHead head;
    EXPECT_FALSE(read("GET / " + version + "\r\n" + field + "\r\n", head));
    return head.keeps_connection();
  };
  EXPECT_TRUE(lasts("HTTP/1.1", ""));
  EXPECT_FALSE(lasts("HTTP/1.1", "Connection: upgrade, Close ,x\r\n"));
  EXPECT_FALSE(lasts("HTTP/1.0", ""));
  EXPECT_TRUE(lasts("HTTP/1.0", "Connection: Keep-Alive\r\n"));
  EXPECT_FALSE(lasts("HTTP/1.0", "Connection: close, keep-alive\r\n"));
}

TEST(HeadParser, Takes_out_what_is_for_the_next_hop_only) {
  RequestHead head;
  ASSERT_FALSE(
      read("GET http://a/ HTTP/1.1\r\nConnection: close, X-Mine\r\nX-Mine: 1\r\nKeep-Alive: 5\r\n"
           "Proxy-Authorization: b\r\nproxy-anything: c\r\nTE: trailers\r\nTrailer: x\r\nUpgrade: h2c\r\n"
           "X-Kept: d\r\n\r\n",
           head));
  head.headers.remove_hop_by_hop();
  ASSERT_EQ(head.headers.all().size(), 1u);
  EXPECT_EQ(head.headers.all()[0].name, "X-Kept");
}

TEST(HeadParser, Reads_the_head_of_an_answer) {
  ResponseHead head;
  ASSERT_FALSE(read("HTTP/1.1 404 Not Found\r\nA: b\r\n\r\n", head));
  EXPECT_EQ(head.status, 404);
  EXPECT_EQ(head.reason, "Not Found");
  EXPECT_FALSE(read("HTTP/1.0 200\r\n\r\n", head));
  EXPECT_TRUE(read("HTTP/1.1 20 OK\r\n\r\n", head));
  EXPECT_TRUE(read("HTTP/1.1 2000 OK\r\n\r\n", head));
  EXPECT_TRUE(read("ICY 200 OK here\r\n\r\n", head));
}

}  // namespace head_parser_test
}  // namespace sluice::http
