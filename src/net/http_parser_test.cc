#include "net/http_parser.h"

#include <gtest/gtest.h>

namespace sluice::net {
namespace http_parser_test {

constexpr RequestLimits small = {.head = {.line_bytes_max = 64, .header_bytes_max = 200, .header_count_max = 5},
                                 .body_bytes_max = 40};

// What came of some bytes, as text that can be compared.
struct Outcome {
  std::string text;
  std::size_t taken = 0;
};

Outcome outcome_of(const RequestParser& parser, std::size_t taken) {
  if (const auto& refused = parser.refused())
    return {std::to_string(refused->status) + " " + std::string(refused->detail), 0};
  if (!parser.done()) return {"unfinished", taken};
  const Request& request = parser.request();
  std::string text = request.method + " " + request.path + " [" + request.query + "]";
  text += parser.is_http_1_0() ? " 1.0" : " 1.1";
  text += parser.keep_alive() ? " keep" : " close";
  if (parser.expects_continue()) text += " expects";
  for (const auto& [name, value] : request.headers.all()) text += " " + name + "=" + value;
  return {text + " |" + std::string(request.body), taken};
}

Outcome parse_in_pieces(std::string_view bytes, std::size_t first, std::size_t then) {
  BodyRoom bodies;
  RequestParser parser(small, bodies);
  std::size_t taken = 0;
  for (std::size_t size = first; taken < bytes.size(); size = then) {
    const std::size_t took = parser.feed(bytes.substr(taken, size));
    taken += took;
    if (parser.done() || parser.refused() || took == 0) break;
  }
  return outcome_of(parser, taken);
}

// Parses whole; also split in two at every byte, and byte by byte, which must give the same.
std::string parsed(std::string_view bytes) {
  const Outcome whole = parse_in_pieces(bytes, bytes.size(), bytes.size());
  for (std::size_t at = 1; at < bytes.size(); ++at) {
    const Outcome split = parse_in_pieces(bytes, at, bytes.size());
    EXPECT_EQ(split.text, whole.text) << "split at " << at << " of " << bytes;
    EXPECT_EQ(split.taken, whole.taken) << "split at " << at << " of " << bytes;
  }
  EXPECT_EQ(parse_in_pieces(bytes, 1, 1).text, whole.text) << bytes;
  return whole.text;
}

int status_of(std::string_view bytes) { return std::atoi(parsed(bytes).c_str()); }
int status_of_field(const std::string& field) {
  return status_of("GET / HTTP/1.1\r\nHost: h\r\n" + field + "\r\n\r\n");
}
int status_of_line(const std::string& line) { return status_of(line + "\r\nHost: h\r\n\r\n"); }

TEST(RequestParser, Reads_a_request) {
  EXPECT_EQ(parsed("GET /a/b?c=d?e HTTP/1.1\r\nHost: h:1\r\nX-Y:  two words \t\r\n\r\n"),
            "GET /a/b [c=d?e] 1.1 keep Host=h:1 X-Y=two words |");
  EXPECT_EQ(parsed("GET / HTTP/1.0\r\n\r\n"), "GET / [] 1.0 close |");
  EXPECT_EQ(parsed("POST / HTTP/1.1\r\nhost:\r\ncontent-length: 0005\r\n\r\nhello"),
            "POST / [] 1.1 keep host= content-length=0005 |hello");
}

TEST(RequestParser, Takes_nothing_beyond_the_end) {
  const std::string_view two = "GET /1 HTTP/1.1\r\nHost: h\r\n\r\nGET /2 HTTP/1.1\r\nHost: h\r\n\r\n";
  BodyRoom bodies;
  RequestParser parser(small, bodies);
  const std::size_t taken = parser.feed(two);
  EXPECT_EQ(parser.take().path, "/1");
  EXPECT_EQ(parser.feed(two.substr(taken)), two.size() - taken);
  EXPECT_EQ(parser.take().path, "/2");
}

TEST(RequestParser, Knows_when_a_connection_lasts) {
  const auto keeps = [](std::string head) { return parsed(head + "\r\n\r\n").find(" keep ") != std::string::npos; };
  EXPECT_TRUE(keeps("GET / HTTP/1.1\r\nHost: h"));
  EXPECT_FALSE(keeps("GET / HTTP/1.1\r\nHost: h\r\nConnection: Close"));
  EXPECT_FALSE(keeps("GET / HTTP/1.1\r\nHost: h\r\nConnection: upgrade, close ,x"));
  EXPECT_FALSE(keeps("GET / HTTP/1.0\r\nHost: h"));
  EXPECT_TRUE(keeps("GET / HTTP/1.0\r\nConnection: Keep-Alive"));
}

TEST(RequestParser, Reads_chunks_and_drops_trailers) {
  const std::string head = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: Chunked\r\n\r\n";
  const std::string expected = "POST / [] 1.1 keep Host=h Transfer-Encoding=Chunked |";
  EXPECT_EQ(parsed(head + "5\r\nhello\r\n0A;ext=\"v\"\r\n0123456789\r\n0\r\n\r\n"), expected + "hello0123456789");
  EXPECT_EQ(parsed(head + "000\r\nContent-Length: 7\r\nX: y\r\n\r\n"), expected);
  EXPECT_EQ(parsed(head + "1\r\na\r\n"), "unfinished");
}

TEST(RequestParser, Refuses_malformed_chunks) {
  const std::string head = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const char* body :
       {"\r\n", "x\r\n", "-1\r\n", "+1\r\n", "0x1\r\n", " 1\r\n", "1 \r\n", "1 ;a\r\n", "1\n", "1\ra\r\n", "1;\x01\r\n",
        "1\r\nab\r\n", "1\r\nabcd", "1\r\na\n", "0\r\n folded\r\n\r\n", "0\r\nno colon\r\n\r\n", "0\r\n\n"}) {
    EXPECT_EQ(status_of(head + body), 400) << body;
  }
  EXPECT_EQ(status_of(head + "1;" + std::string(300, 'e') + "\r\n"), 400);
  EXPECT_EQ(status_of(head + std::string(300, '0')), 400);
  EXPECT_EQ(status_of(head + "0\r\nA: " + std::string(300, 'a') + "\r\n\r\n"), 431);
}

TEST(RequestParser, A_chunk_size_that_would_overflow_is_too_large) {
  const std::string head = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
  EXPECT_EQ(status_of(head + "ffffffffffffffff\r\n"), 413);
  EXPECT_EQ(status_of(head + "10000000000000001\r\n"), 413);
  EXPECT_EQ(status_of(head + "29\r\n"), 413);
  EXPECT_EQ(status_of(head + "20\r\n" + std::string(32, 'a') + "\r\n9\r\n"), 413);
  EXPECT_TRUE(
      parsed(head + "20\r\n" + std::string(32, 'a') + "\r\n8\r\nbbbbbbbb\r\n0\r\n\r\n").ends_with("aabbbbbbbb"));
}

TEST(RequestParser, Chunk_extensions_are_bounded_together) {
  std::string body;
  for (int i = 0; i < 30; ++i) body += "1;" + std::string(10, 'e') + "\r\na\r\n";
  EXPECT_EQ(status_of("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n" + body), 400);
}

TEST(RequestParser, Refuses_what_two_readers_could_frame_differently) {
  EXPECT_EQ(status_of_field("Content-Length: 1\r\nTransfer-Encoding: chunked"), 400);
  EXPECT_EQ(status_of_field("Transfer-Encoding: chunked\r\nContent-Length: 1"), 400);
  EXPECT_EQ(status_of_field("Content-Length: 1\r\nContent-Length: 2"), 400);
  EXPECT_EQ(status_of_field("Content-Length: 1\r\nContent-Length: 1"), 400);
  EXPECT_EQ(status_of_field("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"), 400);
  EXPECT_EQ(status_of_field("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity"), 400);
  EXPECT_EQ(status_of("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), 400);
  for (const char* coding : {"gzip", "gzip, chunked", "chunked, gzip", "xchunked", "chunked;q=1", "\"chunked\"", ""}) {
    EXPECT_EQ(status_of_field("Transfer-Encoding: " + std::string(coding)), 501) << coding;
  }
  for (const char* length : {"", "-1", "+1", "1 1", "1,1", "0x1", "1.0", "a"}) {
    EXPECT_EQ(status_of_field("Content-Length: " + std::string(length)), 400) << length;
  }
}

TEST(RequestParser, Refuses_malformed_fields) {
  using namespace std::string_literals;
  for (const auto& field :
       {"Name : v"s, "Na me: v"s, ": v"s, "no colon"s, "X: a\r\n folded"s, "X: a\r\n\tfolded"s, "X: a\rb"s, "X: a\0b"s,
        "X\0: a"s, "X: a\x7f"s, "X\x80: a"s, "X: a\nY: b"s, "\rX: a"s, "X(): a"s}) {
    EXPECT_EQ(status_of_field(field), 400) << field;
  }
  EXPECT_EQ(status_of_field("X: caf\xc3\xa9\tok"), 0);
}

TEST(RequestParser, Wants_exactly_one_host) {
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\n\r\n"), 400);
  EXPECT_EQ(status_of_field("Host: h"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: a b\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n"), 0);
}

TEST(RequestParser, Refuses_malformed_request_lines) {
  using namespace std::string_literals;
  for (const auto& line : {"GET /"s,
                           "GET  / HTTP/1.1"s,
                           "GET /  HTTP/1.1"s,
                           "GET / HTTP/1.1 "s,
                           " GET / HTTP/1.1"s,
                           "GET / x HTTP/1.1"s,
                           "GET\t/ HTTP/1.1"s,
                           "G(T / HTTP/1.1"s,
                           "GET / HTTP/1"s,
                           "GET / HTTP/11"s,
                           "GET / http/1.1"s,
                           "GET / HTTP/1.1x"s,
                           "GET a HTTP/1.1"s,
                           "GET * HTTP/1.1"s,
                           "GET /a#b HTTP/1.1"s,
                           "GET /\x80 HTTP/1.1"s,
                           "GET /\0 HTTP/1.1"s,
                           "GET ftp://h/ HTTP/1.1"s,
                           "GET http:// HTTP/1.1"s,
                           "GET http:///a HTTP/1.1"s,
                           "GET http://u@h/ HTTP/1.1"s,
                           "CONNECT h:80 HTTP/1.1"s,
                           "\x16\x03\x01"s}) {
    EXPECT_EQ(status_of_line(line), 400) << line;
  }
  EXPECT_EQ(status_of("GET / HTTP/1.1\nHost: h\n\n"), 400);
  EXPECT_EQ(status_of("\r\n\r\nGET / HTTP/1.1\r\n"), 400);
  EXPECT_EQ(status_of_line("\r\nGET / HTTP/1.1"), 0);
  for (const char* version : {"HTTP/2.0", "HTTP/0.9", "HTTP/1.2", "HTTP/3.0"}) {
    EXPECT_EQ(status_of_line("GET / " + std::string(version)), 505) << version;
  }
  EXPECT_EQ(status_of("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), 505);
}

TEST(RequestParser, Understands_the_other_forms_of_a_target) {
  const auto target = [](std::string line) {
    const std::string text = parsed(line + " HTTP/1.1\r\nHost: h\r\n\r\n");
    return text.substr(0, text.find(" 1.1 "));
  };
  EXPECT_EQ(target("GET http://h:1/a?b"), "GET /a [b]");
  EXPECT_EQ(target("GET HTTPS://h"), "GET / []");
  EXPECT_EQ(target("GET http://h?b"), "GET / [b]");
  EXPECT_EQ(target("OPTIONS *"), "OPTIONS * []");
  EXPECT_EQ(target("GET //a"), "GET //a []");
}

TEST(RequestParser, Knows_one_expectation) {
  EXPECT_EQ(status_of_field("Expect: something"), 417);
  EXPECT_EQ(status_of_field("Expect: 100-continue, x"), 417);
  EXPECT_NE(parsed("PUT / HTTP/1.1\r\nHost: h\r\nExpect: 100-Continue\r\nContent-Length: 1\r\n\r\na").find(" expects "),
            std::string::npos);
  EXPECT_EQ(parsed("PUT / HTTP/1.0\r\nExpect: 100-continue\r\n\r\n").find(" expects "), std::string::npos);
}

TEST(RequestParser, Holds_each_limit_exactly) {
  const auto line_of = [](std::size_t size) { return "GET /" + std::string(size - 14, 'a') + " HTTP/1.1"; };
  EXPECT_EQ(status_of_line(line_of(small.head.line_bytes_max)), 0);
  EXPECT_EQ(status_of_line(line_of(small.head.line_bytes_max + 1)), 414);
  EXPECT_EQ(status_of(std::string(small.head.line_bytes_max + 3, 'a')), 414);

  const auto head_of = [](std::size_t size) {
    return "GET / HTTP/1.1\r\nHost: h\r\nX: " + std::string(size - 10, 'a') + "\r\n\r\n";
  };
  EXPECT_EQ(status_of(head_of(small.head.header_bytes_max)), 0);
  EXPECT_EQ(status_of(head_of(small.head.header_bytes_max + 1)), 431);

  std::string fields = "GET / HTTP/1.1\r\nHost: h\r\na: 1\r\nb: 2\r\nc: 3\r\nd: 4\r\n";
  EXPECT_EQ(status_of(fields + "\r\n"), 0);
  EXPECT_EQ(status_of(fields + "e: 5\r\n\r\n"), 431);

  const auto body_of = [](std::size_t size) {
    return "GET / HTTP/1.1\r\nHost: h\r\nContent-Length: " + std::to_string(size) + "\r\n\r\n" + std::string(size, 'b');
  };
  EXPECT_TRUE(parsed(body_of(small.body_bytes_max)).ends_with("|" + std::string(small.body_bytes_max, 'b')));
  EXPECT_EQ(status_of(body_of(small.body_bytes_max + 1)), 413);
  EXPECT_EQ(status_of_field("Content-Length: 99999999999999999999999999"), 413);
}

TEST(RequestParser, Some_paths_may_have_larger_bodies) {
  auto limits = small;
  limits.body_bytes_max_of = [](std::string_view method, std::string_view path) -> std::size_t {
    return method == "POST" && path == "/large" ? 100 : 0;
  };
  const auto status_of_body = [&](const std::string& start, std::size_t size) {
    BodyRoom bodies;
    RequestParser parser(limits, bodies);
    parser.feed(start + " HTTP/1.1\r\nHost: h\r\nContent-Length: " + std::to_string(size) + "\r\n\r\n");
    return parser.refused() ? parser.refused()->status : 0;
  };
  EXPECT_EQ(status_of_body("POST /large", 100), 0);
  EXPECT_EQ(status_of_body("POST /large?x=y", 100), 0);
  EXPECT_EQ(status_of_body("POST /large", 101), 413);
  EXPECT_EQ(status_of_body("PUT /large", 41), 413);
  EXPECT_EQ(status_of_body("POST /other", 41), 413);
  EXPECT_EQ(status_of_body("POST /other", 40), 0);
  BodyRoom bodies;
  RequestParser chunked(limits, bodies);
  chunked.feed("POST /large HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n40\r\n" + std::string(64, 'x'));
  chunked.feed("\r\n25\r\n");
  ASSERT_TRUE(chunked.refused());
  EXPECT_EQ(chunked.refused()->status, 413);
}

TEST(RequestParser, A_body_too_large_is_refused_before_it_comes) {
  BodyRoom bodies;
  RequestParser parser(small, bodies);
  parser.feed("POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 41\r\n\r\n");
  ASSERT_TRUE(parser.refused());
  EXPECT_EQ(parser.refused()->status, 413);
  EXPECT_EQ(parser.refused()->detail, "the request body is too large: the limit is 40 bytes");
}

}  // namespace http_parser_test
}  // namespace sluice::net
