#include <gtest/gtest.h>

#include "net/net.h"

namespace sluice::net {
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

TEST(Headers, Are_found_whatever_their_case_and_the_first_wins) {
  const Headers headers = {{"Content-Type", "a"}, {"content-type", "b"}, {"X", ""}};
  EXPECT_EQ(headers.find("CONTENT-TYPE"), "a");
  EXPECT_EQ(headers.find("x"), "");
  EXPECT_EQ(headers.find("Content-Typ"), std::nullopt);
}

}  // namespace uri_test
}  // namespace sluice::net
