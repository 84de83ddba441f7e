#include "egress/head_parser.h"

#include <gtest/gtest.h>

namespace sluice::egress {
namespace head_parser_test {

// 0: it is understood.
int status_of(std::string_view text) {
  RequestHead head;
  const auto refusal = parse_head(text, head);
  return refusal ? refusal->status : 0;
}

int absolute_status(const std::string& target, const std::string& host) {
  RequestHead head;
  if (const auto refusal = parse_head("GET " + target + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n", head)) {
    return refusal->status;
  }
  Target out;
  const auto refusal = parse_absolute(head, out);
  return refusal ? refusal->status : 0;
}

int connect_status(std::string_view target, Destination* to = nullptr) {
  RequestHead head;
  head.target = target;
  Destination out;
  const auto refusal = parse_connect(head, out);
  if (to != nullptr) *to = out;
  return refusal ? refusal->status : 0;
}

TEST(HeadParser, Takes_a_request_apart) {
  RequestHead head;
  ASSERT_FALSE(parse_head("GET http://a.test/x?y HTTP/1.1\r\nHost: a.test\r\nX-Y:  z \r\nEmpty:\r\n\r\n", head));
  EXPECT_EQ(head.method, "GET");
  EXPECT_EQ(head.target, "http://a.test/x?y");
  EXPECT_EQ(*head.fields.find("x-y"), "z");
  EXPECT_EQ(*head.fields.find("empty"), "");
  Target target;
  ASSERT_FALSE(parse_absolute(head, target));
  EXPECT_EQ(target.to, (Destination{.host = "a.test", .port = 80}));
  EXPECT_EQ(target.path, "/x");
  EXPECT_EQ(target.query, "?y");
}

// I-17: what a proxy and a server could read in two ways is how a request is smuggled.
TEST(HeadParser, Refuses_what_can_be_read_in_two_ways) {
  EXPECT_EQ(status_of("GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n"), 0);
  EXPECT_EQ(status_of("GET http://a/ HTTP/1.1\nHost: a\r\n\r\n"), 400) << "bare LF";
  EXPECT_EQ(status_of("GET http://a/ HTTP/1.1\r\nHost: a\rX: y\r\n\r\n"), 400) << "bare CR";
  EXPECT_EQ(status_of("GET http://a/ HTTP/1.1\r\nHost : a\r\n\r\n"), 400) << "blank before the colon";
  EXPECT_EQ(status_of("GET http://a/ HTTP/1.1\r\nX: a\r\n folded\r\n\r\n"), 400) << "obs-fold";
  EXPECT_EQ(status_of("GET http://a/ HTTP/1.1\r\n X: a\r\n\r\n"), 400) << "fold before any field";
  EXPECT_EQ(status_of("GET http://a/ HTTP/1.1\r\nno colon\r\n\r\n"), 400);
  EXPECT_EQ(status_of(std::string_view("GET http://a/ HTTP/1.1\r\nX: a\0b\r\n\r\n", 37)), 400) << "NUL";
  EXPECT_EQ(status_of("GET http://a/ x HTTP/1.1\r\n\r\n"), 400) << "a blank in the target";
  EXPECT_EQ(status_of("GET http://a/#top HTTP/1.1\r\n\r\n"), 400) << "a fragment";
  EXPECT_EQ(status_of("G(T http://a/ HTTP/1.1\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET http://a/ HTTP/2.0\r\n\r\n"), 505);
  EXPECT_EQ(status_of("GET http://a/ http/1.1\r\n\r\n"), 505);
}

TEST(HeadParser, Refuses_more_fields_than_there_may_be) {
  std::string text = "GET http://a/ HTTP/1.1\r\n";
  for (std::size_t i = 0; i < field_count_max; ++i) text += "A: b\r\n";
  EXPECT_EQ(status_of(text + "\r\n"), 0);
  EXPECT_EQ(status_of(text + "A: b\r\n\r\n"), 431);
}

TEST(HeadParser, The_Host_field_says_where_the_URL_goes) {
  EXPECT_EQ(absolute_status("http://a.test/", "a.test"), 0);
  EXPECT_EQ(absolute_status("http://a.test/", "A.TEST:80"), 0);
  EXPECT_EQ(absolute_status("http://a.test./", "a.test"), 0);
  EXPECT_EQ(absolute_status("http://a.test:8080/", "a.test:8080"), 0);
  EXPECT_EQ(absolute_status("http://a.test/", "b.test"), 400);
  EXPECT_EQ(absolute_status("http://a.test:8080/", "a.test"), 400);
  EXPECT_EQ(absolute_status("http://a.test/", "a.test\r\nHost: a.test"), 400) << "twice";
}

TEST(HeadParser, Refuses_URLs_that_hide_where_they_go) {
  EXPECT_EQ(absolute_status("/path", "a.test"), 400) << "origin form";
  EXPECT_EQ(absolute_status("*", "a.test"), 400);
  EXPECT_EQ(absolute_status("https://a.test/", "a.test"), 400);
  EXPECT_EQ(absolute_status("http://user@a.test/", "a.test"), 400);
  EXPECT_EQ(absolute_status("http://good.test:80@a.test/", "a.test"), 400);
  EXPECT_EQ(absolute_status("http://a.test\\@b.test/", "a.test"), 400);
  EXPECT_EQ(absolute_status("http://a%2etest/", "a%2etest"), 400);
  EXPECT_EQ(absolute_status("http:///x", "x"), 400);
  EXPECT_EQ(absolute_status("http://a..test/", "a..test"), 400);
  EXPECT_EQ(absolute_status("http://a.test:0/", "a.test:0"), 400);
  EXPECT_EQ(absolute_status("http://a.test:65536/", "a.test:65536"), 400);
  EXPECT_EQ(absolute_status("http://a.test:/", "a.test"), 400);
  EXPECT_EQ(absolute_status("http://a.test:80:80/", "a.test"), 400);
}

TEST(HeadParser, Knows_an_address_however_it_is_spelt) {
  Destination to;
  EXPECT_EQ(connect_status("93.184.216.34:443", &to), 0);
  EXPECT_TRUE(to.is_address);
  EXPECT_EQ(connect_status("[2606:2800::1]:443", &to), 0);
  EXPECT_TRUE(to.is_address);
  EXPECT_EQ(to.host, "2606:2800::1");
  EXPECT_EQ(connect_status("a.test:443", &to), 0);
  EXPECT_FALSE(to.is_address);
  EXPECT_EQ(connect_status("2130706433:443"), 400) << "an address as one number";
  EXPECT_EQ(connect_status("127.1:443"), 400) << "an address in short";
  EXPECT_EQ(connect_status("0x7f000001:443"), 400);
  EXPECT_EQ(connect_status("0177.0.0.1:443"), 400) << "octal";
  EXPECT_EQ(connect_status("[::1%25eth0]:443"), 400) << "a zone";
  EXPECT_EQ(connect_status("[::1:443"), 400);
  EXPECT_EQ(connect_status("[::::]:443"), 400);
  EXPECT_EQ(connect_status("[1.2.3.4]:443"), 400);
  EXPECT_EQ(connect_status("a.test"), 400) << "no port";
}

TEST(HeadParser, A_request_inside_a_CONNECT_stays_where_it_is) {
  const Destination to{.host = "a.test", .port = 443, .tls = true};
  const auto status = [&](const std::string& text) {
    RequestHead head;
    EXPECT_FALSE(parse_head(text, head));
    Target out;
    const auto refusal = parse_origin(head, to, out);
    return refusal ? refusal->status : 0;
  };
  EXPECT_EQ(status("GET /x HTTP/1.1\r\nHost: a.test\r\n\r\n"), 0);
  EXPECT_EQ(status("GET /x HTTP/1.1\r\nHost: a.test:443\r\n\r\n"), 0);
  EXPECT_EQ(status("GET /x HTTP/1.1\r\nHost: b.test\r\n\r\n"), 421);
  EXPECT_EQ(status("GET /x HTTP/1.1\r\n\r\n"), 400);
  EXPECT_EQ(status("GET http://b.test/x HTTP/1.1\r\nHost: a.test\r\n\r\n"), 400);
}

TEST(HeadParser, Takes_out_what_is_for_the_next_hop_only) {
  RequestHead head;
  ASSERT_FALSE(
      parse_head("GET http://a/ HTTP/1.1\r\nConnection: close, X-Mine\r\nX-Mine: 1\r\nKeep-Alive: 5\r\n"
                 "Proxy-Authorization: b\r\nproxy-anything: c\r\nTE: trailers\r\nTrailer: x\r\nUpgrade: h2c\r\n"
                 "X-Kept: d\r\n\r\n",
                 head));
  head.fields.remove_hop_by_hop();
  ASSERT_EQ(head.fields.all().size(), 1u);
  EXPECT_EQ(head.fields.all()[0].name, "X-Kept");
}

TEST(HeadParser, Reads_the_head_of_an_answer) {
  ResponseHead head;
  ASSERT_FALSE(parse_head("HTTP/1.1 404 Not Found\r\nA: b\r\n\r\n", head));
  EXPECT_EQ(head.status, 404);
  EXPECT_EQ(head.reason, "Not Found");
  EXPECT_FALSE(parse_head("HTTP/1.0 200\r\n\r\n", head));
  EXPECT_TRUE(parse_head("HTTP/1.1 20 OK\r\n\r\n", head));
  EXPECT_TRUE(parse_head("HTTP/1.1 2000 OK\r\n\r\n", head));
  EXPECT_TRUE(parse_head("ICY 200 OK here\r\n\r\n", head));
}

}  // namespace head_parser_test
}  // namespace sluice::egress
