// What one tenant may put into requests that share their connections with others'.
#include "http/headers.h"

#include <gtest/gtest.h>

namespace sluice::http {
namespace headers_test {

TEST(FaultOfHeader, A_valid_header_has_no_fault) {
  for (const auto* name :
       {"Authorization", "X-Key", "x_key", "Cookie", "Acceptable", "Hosted", "Proxied", "!#$%&'*+-.^_`|~"}) {
    EXPECT_EQ(fault_of_header(name, "Bearer {{secret:CRM_KEY}}"), "") << name;
  }
  EXPECT_EQ(fault_of_header("X-Name", ""), "");
  EXPECT_EQ(fault_of_header("X-Name", "Zo\xc3\xab: a; b, \"c\""), "");
}

TEST(FaultOfHeader, A_name_is_a_token) {
  for (const auto* name :
       {"", " ", "X Key", "X-Key:", "X-Key;", ":authority", "X\r\nHost", "X/Y", "X\t", "Sch\xc3\xb6n", "(x)"}) {
    EXPECT_EQ(fault_of_header(name, "1"), "is no name of an HTTP header") << name;
  }
  EXPECT_NE(fault_of_header(std::string_view("X\0", 2), "1"), "");
}

// Content-Length: 5 would leave the rest of the body on the connection, as the beginning of the next request there.
TEST(FaultOfHeader, Headers_that_frame_or_route_a_request_cannot_be_chosen_in_any_case) {
  for (const auto* name : {"Host",
                           "HOST",
                           "Content-Length",
                           "content-length",
                           "Transfer-Encoding",
                           "Connection",
                           "TE",
                           "Trailer",
                           "Upgrade",
                           "Keep-Alive",
                           "Proxy-Authorization",
                           "proxy-connection",
                           "Proxy-",
                           "Expect",
                           "HTTP2-Settings",
                           "Content-Type",
                           "Accept",
                           "Last-Event-ID",
                           "Mcp-Session-Id",
                           "MCP-Protocol-Version"}) {
    EXPECT_EQ(fault_of_header(name, "5"), "is set by the server itself") << name;
  }
}

TEST(FaultOfHeader, A_value_has_no_control_characters) {
  for (const auto value : {std::string_view("a\r\nHost: b"), std::string_view("a\n"), std::string_view("\r"),
                           std::string_view("a\0b", 3), std::string_view("\x7f"), std::string_view("\x1b[m")}) {
    EXPECT_EQ(fault_of_header("X-Key", value), "has a line break or another control character in its value") << value;
  }
}

TEST(Headers, Headers_are_found_in_any_case_and_the_first_one_wins) {
  const Headers headers = {{"Content-Type", "a"}, {"content-type", "b"}, {"X", ""}};
  EXPECT_EQ(headers.find("CONTENT-TYPE"), "a");
  EXPECT_EQ(headers.find("x"), "");
  EXPECT_EQ(headers.find("Content-Typ"), std::nullopt);
}

}  // namespace headers_test
}  // namespace sluice::http
