#include "http/body.h"

#include <gtest/gtest.h>

#include "http/head_parser.h"

namespace sluice::http {
namespace body_test {

constexpr HeadLimits limits;

template <typename Head>
Head head_of(const std::string& text) {
  HeadParser<Head> parser(limits);
  parser.feed(text);
  EXPECT_TRUE(parser.done()) << text;
  return parser.head();
}

struct Plan {
  std::optional<Fault> fault;
  BodyPlan plan;
};

Plan plan_of(const std::string& fields, const std::string& version = "HTTP/1.1") {
  Plan out;
  out.fault = plan_body(head_of<RequestHead>("POST http://a/ " + version + "\r\n" + fields + "\r\n"), out.plan);
  return out;
}

bool is_malformed(const std::string& fields, const std::string& version = "HTTP/1.1") {
  const auto fault = plan_of(fields, version).fault;
  return fault && fault->kind == Fault::Kind::malformed;
}

Framing answer_framing(const std::string& text, std::string_view method = "GET") {
  BodyPlan out;
  EXPECT_FALSE(plan_body(head_of<ResponseHead>(text), method, out));
  return out.framing;
}

// The payload, however the bytes are cut; "broken" or "more" when it does not end.
std::string payload_of(std::string_view text, std::size_t piece_size, BodyPlan plan = {Framing::chunked, 0}) {
  BodyReader reader(plan);
  std::string out;
  while (!text.empty() && !reader.done() && !reader.broken()) {
    std::string_view piece = text.substr(0, piece_size);
    const std::size_t offered = piece.size();
    for (auto payload = reader.next(piece); !payload.empty(); payload = reader.next(piece)) out += payload;
    text.remove_prefix(offered - piece.size());
  }
  return reader.broken() ? "broken" : reader.done() ? out + "|" + std::string(text) : "more";
}

// I-17: two lengths are two requests.
TEST(Body, Refuses_a_body_whose_end_is_in_doubt) {
  EXPECT_EQ(plan_of("Content-Length: 5\r\n").plan.length, 5u);
  EXPECT_EQ(plan_of("Transfer-Encoding: Chunked\r\n").plan.framing, Framing::chunked);
  EXPECT_EQ(plan_of("").plan.framing, Framing::none);
  EXPECT_TRUE(is_malformed("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"));
  EXPECT_TRUE(is_malformed("Content-Length: 5\r\nContent-Length: 5\r\n"));
  EXPECT_TRUE(is_malformed("Content-Length: 5, 5\r\n"));
  EXPECT_TRUE(is_malformed("Content-Length: +5\r\n"));
  EXPECT_TRUE(is_malformed("Content-Length: 0x5\r\n"));
  EXPECT_TRUE(is_malformed("Content-Length: -1\r\n"));
  EXPECT_TRUE(is_malformed("Content-Length:\r\n"));
  EXPECT_EQ(plan_of("Content-Length: 99999999999999999999\r\n").fault->kind, Fault::Kind::large_body);
  EXPECT_EQ(plan_of("Transfer-Encoding: gzip, chunked\r\n").fault->kind, Fault::Kind::unknown_coding);
  EXPECT_EQ(plan_of("Transfer-Encoding: xchunked\r\n").fault->kind, Fault::Kind::unknown_coding);
  EXPECT_TRUE(is_malformed("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n"));
  EXPECT_TRUE(is_malformed("Transfer-Encoding: chunked\r\n", "HTTP/1.0"));
}

TEST(Body, Knows_which_answers_have_no_body) {
  EXPECT_EQ(answer_framing("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"), Framing::length);
  EXPECT_EQ(answer_framing("HTTP/1.1 200 OK\r\n\r\n"), Framing::until_close);
  EXPECT_EQ(answer_framing("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "HEAD"), Framing::none);
  EXPECT_EQ(answer_framing("HTTP/1.1 204 No\r\n\r\n"), Framing::none);
  EXPECT_EQ(answer_framing("HTTP/1.1 304 No\r\nContent-Length: 5\r\n\r\n"), Framing::none);
}

TEST(Body, Reads_chunks_however_they_are_cut) {
  const std::string text = "5\r\nhello\r\n1;name=\"v\"\r\n,\r\nA\r\n wide world\r\n0\r\nX: y\r\n\r\nGET ";
  for (const std::size_t size : {1u, 2u, 3u, 7u, 1000u}) {
    EXPECT_EQ(payload_of("5\r\nhello\r\n1;n=\"v\"\r\n,\r\na\r\n wide worl\r\n0\r\nX: y\r\n\r\nGET ", size),
              "hello, wide worl|GET ")
        << size;
    EXPECT_EQ(payload_of(text, size), "broken") << size << ": a chunk is longer than it says";
  }
  EXPECT_EQ(payload_of("hello!!", 3, {Framing::length, 5}), "hello|!!");
}

TEST(Body, Refuses_chunks_that_smuggle) {
  EXPECT_EQ(payload_of("5\nhello\r\n0\r\n\r\n", 100), "broken") << "bare LF";
  EXPECT_EQ(payload_of("5;\nx\r\nhello\r\n0\r\n\r\n", 100), "broken") << "LF in an extension";
  EXPECT_EQ(payload_of("5;a\rb\r\nhello\r\n0\r\n\r\n", 100), "broken") << "CR in an extension";
  EXPECT_EQ(payload_of("0x5\r\nhello\r\n0\r\n\r\n", 100), "broken");
  EXPECT_EQ(payload_of("-5\r\nhello\r\n0\r\n\r\n", 100), "broken");
  EXPECT_EQ(payload_of(" 5\r\nhello\r\n0\r\n\r\n", 100), "broken");
  EXPECT_EQ(payload_of("5 \r\nhello\r\n0\r\n\r\n", 100), "broken");
  EXPECT_EQ(payload_of("\r\nhello\r\n0\r\n\r\n", 100), "broken");
  EXPECT_EQ(payload_of("10000000000000005\r\nhello\r\n0\r\n\r\n", 100), "broken") << "more than 64 bits";
  EXPECT_EQ(payload_of("0\r\n\nGET / HTTP/1.1\r\n\r\n", 100), "broken");
  EXPECT_EQ(payload_of(std::string(2000, '0') + "\r\n", 100), "broken") << "a size without end";
  std::string trailers = "0\r\n";
  for (int i = 0; i < 1000; ++i) trailers += "X-Trailer: value\r\n";
  EXPECT_EQ(payload_of(trailers + "\r\n", 100), "broken") << "trailers without end";
}

TEST(Body, A_complete_end_differs_from_a_broken_connection) {
  BodyReader counted({Framing::length, 5});
  counted.end();
  EXPECT_TRUE(counted.broken());
  BodyReader open({Framing::until_close, 0});
  open.end();
  EXPECT_TRUE(open.done());
}

TEST(Body, A_chunk_and_its_end_have_a_bound_of_their_own) {
  EXPECT_EQ(payload_of("1;" + std::string(300, 'e') + "\r\nx\r\n0\r\n\r\n", 100), "broken");
  EXPECT_EQ(payload_of("1\r\nwxyz", 100), "broken") << "before its line ends";
  EXPECT_EQ(payload_of("10000000000000001\r\n", 100), "broken") << "more digits than anybody counts";
}

TEST(Body, Chunk_extensions_are_bounded_together) {
  std::string text;
  for (int i = 0; i < 400; ++i) text += "1;" + std::string(200, 'e') + "\r\na\r\n";
  EXPECT_EQ(payload_of(text + "0\r\n\r\n", 1000), "broken");
}

TEST(Body, Trailers_are_header_fields) {
  EXPECT_EQ(payload_of("0\r\nno colon\r\n\r\n", 100), "broken");
  EXPECT_EQ(payload_of("0\r\nX: y\r\n folded\r\n\r\n", 100), "broken");
  EXPECT_EQ(payload_of("0\r\nX : y\r\n\r\n", 100), "broken");
  EXPECT_EQ(payload_of("0\r\nX: y\r\n\r\n", 100), "|");
}

TEST(Body, A_chunk_that_would_exceed_the_bound_is_refused_before_it_comes) {
  BodyReader reader({Framing::chunked, 0}, {.payload_bytes_max = 10});
  std::string_view bytes = "8\r\n01234567\r\n3\r\n";
  EXPECT_EQ(reader.next(bytes), "01234567");
  EXPECT_EQ(reader.next(bytes), "");
  ASSERT_TRUE(reader.broken());
  EXPECT_EQ(reader.fault().kind, Fault::Kind::large_body);
}

}  // namespace body_test
}  // namespace sluice::http
