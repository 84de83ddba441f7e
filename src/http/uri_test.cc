#include "http/uri.h"

#include <gtest/gtest.h>

namespace sluice::http {
namespace uri_test {

using Pairs = std::vector<std::pair<std::string, std::string>>;

TEST(PercentDecode, Decodes_what_is_well_formed) {
  EXPECT_EQ(percent_decode("/a%2Fb%c3%A9+c"), "/a/b\xc3\xa9+c");
  EXPECT_EQ(percent_decode(""), "");
}

TEST(PercentDecode, Refuses_broken_escapes_and_nul) {
  for (const char* text : {"%", "%4", "a%4", "%4g", "%g4", "%00", "%%41"})
    EXPECT_EQ(percent_decode(text), std::nullopt) << text;
  EXPECT_EQ(percent_decode(std::string_view("a\0b", 3)), std::nullopt);
}

TEST(ParseQuery, Splits_and_decodes) {
  EXPECT_EQ(parse_query("a=1&b=x+y%26z&&c&d="), (Pairs{{"a", "1"}, {"b", "x y&z"}, {"c", ""}, {"d", ""}}));
  EXPECT_EQ(parse_query("a=b=c"), (Pairs{{"a", "b=c"}}));
  EXPECT_EQ(parse_query(""), Pairs{});
  EXPECT_EQ(parse_query("a=%zz"), std::nullopt);
}

TEST(ParseAuthority, Splits_host_and_port) {
  Authority out;
  ASSERT_FALSE(parse_authority("A.test.:8080", 80, out));
  EXPECT_EQ(out.host, "a.test");
  EXPECT_EQ(out.port, 8080);
  EXPECT_FALSE(out.is_address);
  ASSERT_FALSE(parse_authority("[::1]", 443, out));
  EXPECT_EQ(out.host, "::1");
  EXPECT_EQ(out.port, 443);
  EXPECT_TRUE(out.is_address);
}

TEST(ParseAuthority, Refuses_hosts_that_hide_where_they_lead) {
  for (const char* text : {"", ":80", "a..b", ".a", "a b", "u@a", "a:0", "a:65536", "a:", "a:1:2", "[::1", "[1.2.3.4]",
                           "2130706433", "127.1", "0x7f.1", "0177.0.0.1", "a%2eb"}) {
    Authority out;
    EXPECT_TRUE(parse_authority(text, 80, out)) << text;
    EXPECT_EQ(out.host, "") << text;
  }
}

}  // namespace uri_test
}  // namespace sluice::http
