#include "egress/destination.h"

#include <gtest/gtest.h>

#include "http/head_parser.h"

namespace sluice::egress {
namespace destination_test {

http::RequestHead head_of(std::string_view text) {
  http::HeadParser<http::RequestHead> parser(head_limits);
  EXPECT_EQ(parser.feed(text), text.size());
  EXPECT_TRUE(parser.done()) << text;
  return parser.head();
}

int absolute_status(const std::string& target, const std::string& host) {
  const http::RequestHead head = head_of("GET " + target + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
  Target out;
  const auto refusal = parse_absolute(head, out);
  return refusal ? refusal->status : 0;
}

int connect_status(std::string_view target, Destination* to = nullptr) {
  http::RequestHead head;
  head.target = target;
  Destination out;
  const auto refusal = parse_connect(head, out);
  if (to != nullptr) *to = out;
  return refusal ? refusal->status : 0;
}

TEST(Destination, Is_read_from_a_URL) {
  Target target;
  ASSERT_FALSE(parse_absolute(head_of("GET http://a.test/x?y HTTP/1.1\r\nHost: a.test\r\n\r\n"), target));
  EXPECT_EQ(target.to, (Destination{.host = "a.test", .port = 80}));
  EXPECT_EQ(target.path, "/x");
  EXPECT_EQ(target.query, "?y");
}

TEST(Destination, The_Host_field_says_where_the_URL_goes) {
  EXPECT_EQ(absolute_status("http://a.test/", "a.test"), 0);
  EXPECT_EQ(absolute_status("http://a.test/", "A.TEST:80"), 0);
  EXPECT_EQ(absolute_status("http://a.test./", "a.test"), 0);
  EXPECT_EQ(absolute_status("http://a.test:8080/", "a.test:8080"), 0);
  EXPECT_EQ(absolute_status("http://a.test/", "b.test"), 400);
  EXPECT_EQ(absolute_status("http://a.test:8080/", "a.test"), 400);
  EXPECT_EQ(absolute_status("http://a.test/", "a.test\r\nHost: a.test"), 400) << "twice";
}

TEST(Destination, Refuses_URLs_that_hide_where_they_go) {
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

TEST(Destination, Knows_an_address_however_it_is_spelt) {
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

TEST(Destination, A_request_inside_a_CONNECT_stays_where_it_is) {
  const Destination to{.host = "a.test", .port = 443, .tls = true};
  const auto status = [&](const std::string& text) {
    Target out;
    const auto refusal = parse_origin(head_of(text), to, out);
    return refusal ? refusal->status : 0;
  };
  EXPECT_EQ(status("GET /x HTTP/1.1\r\nHost: a.test\r\n\r\n"), 0);
  EXPECT_EQ(status("GET /x HTTP/1.1\r\nHost: a.test:443\r\n\r\n"), 0);
  EXPECT_EQ(status("GET /x HTTP/1.1\r\nHost: b.test\r\n\r\n"), 421);
  EXPECT_EQ(status("GET /x HTTP/1.1\r\n\r\n"), 400);
  EXPECT_EQ(status("GET http://b.test/x HTTP/1.1\r\nHost: a.test\r\n\r\n"), 400);
}

TEST(Destination, A_CONNECT_has_one_Host_field_at_most) {
  Destination to;
  EXPECT_FALSE(parse_connect(head_of("CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n\r\n"), to));
  EXPECT_FALSE(parse_connect(head_of("CONNECT a.test:443 HTTP/1.0\r\n\r\n"), to));
  const auto refusal =
      parse_connect(head_of("CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\nHost: b.test:443\r\n\r\n"), to);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->status, 400);
}

// The proxy's own statuses, which clients in sandboxes know.
TEST(Destination, A_head_that_cannot_be_read_is_refused_with_a_status) {
  const auto status_of = [](std::string_view text) {
    http::HeadParser<http::RequestHead> parser(head_limits);
    parser.feed(text);
    return parser.fault() ? refusal_of(*parser.fault()).status : 0;
  };
  EXPECT_EQ(status_of("GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n"), 0);
  EXPECT_EQ(status_of("GET http://a/ HTTP/1.1\nHost: a\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET http://a/ HTTP/2.0\r\n\r\n"), 505);
  EXPECT_EQ(status_of("GET http://a/ http/1.1\r\n\r\n"), 505);
  EXPECT_EQ(status_of("GET http://a/" + std::string(head_limits.head_bytes_max, 'a')), 431);
  std::string fields = "GET http://a/ HTTP/1.1\r\n";
  for (std::size_t i = 0; i < head_limits.header_count_max; ++i) fields += "A: b\r\n";
  EXPECT_EQ(status_of(fields + "\r\n"), 0);
  EXPECT_EQ(status_of(fields + "A: b\r\n\r\n"), 431);
}

}  // namespace destination_test
}  // namespace sluice::egress
