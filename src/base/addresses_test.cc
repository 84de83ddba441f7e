#include "base/addresses.h"

#include <gtest/gtest.h>

namespace sluice {
namespace addresses_test {

bool is_forbidden(std::string_view text) { return !why_forbidden(parse_address(text).value()).empty(); }

// I-17: nothing that is ours, or our network's, or our cloud's.
TEST(Addresses, Those_of_this_machine_and_its_network_are_forbidden) {
  for (const char* const text :
       {"127.0.0.1",   "127.255.255.254", "0.0.0.0",      "10.0.0.1",        "172.16.0.1",  "172.31.255.255",
        "192.168.1.1", "169.254.169.254", "100.64.0.1",   "100.127.255.255", "192.0.2.1",   "198.51.100.7",
        "203.0.113.9", "198.19.0.1",      "224.0.0.1",    "255.255.255.255", "::",          "::1",
        "fe80::1",     "fc00::1",         "fd12:3456::1", "ff02::1",         "2001:db8::1", "fec0::1",
        "100::1"}) {
    EXPECT_TRUE(is_forbidden(text)) << text;
  }
}

TEST(Addresses, Others_are_not) {
  for (const char* const text : {"93.184.216.34", "8.8.8.8", "172.15.0.1", "172.32.0.1", "100.63.0.1", "100.128.0.1",
                                 "169.253.0.1", "168.63.129.15", "168.63.129.17", "2606:2800:220:1::1", "2a00::1"}) {
    EXPECT_FALSE(is_forbidden(text)) << text;
  }
}

TEST(Addresses, An_address_inside_another_is_judged_as_itself) {
  for (const char* const text :
       {"::ffff:127.0.0.1", "::ffff:168.63.129.16", "::ffff:169.254.169.254", "64:ff9b::10.0.0.1",
        "2002:7f00:1::", "2002:c0a8:101::1", "::127.0.0.1", "64:ff9b:1::8.8.8.8", "2001::1"}) {
    EXPECT_TRUE(is_forbidden(text)) << text;
  }
  EXPECT_FALSE(is_forbidden("::ffff:8.8.8.8"));
  EXPECT_FALSE(is_forbidden("64:ff9b::8.8.8.8"));
}

TEST(Addresses, Nothing_may_follow_an_address) {
  using std::string_view_literals::operator""sv;
  for (const auto text : {"::1\0"sv, "::1\0.example"sv, "127.0.0.1\0"sv, "127.0.0.1 "sv, "::1%lo"sv, "::1]"sv, ""sv}) {
    EXPECT_FALSE(parse_address(text)) << text;
  }
}

TEST(Addresses, A_range_holds_what_begins_as_it_does) {
  const auto range = parse_range("10.1.128.0/17").value();
  EXPECT_TRUE(range.holds(parse_address("10.1.128.1").value()));
  EXPECT_TRUE(range.holds(parse_address("::ffff:10.1.255.1").value()));
  EXPECT_FALSE(range.holds(parse_address("10.1.127.255").value()));
  EXPECT_FALSE(range.holds(parse_address("::1").value()));
  EXPECT_TRUE(parse_range("fd00::/8").value().holds(parse_address("fd12::1").value()));
  EXPECT_TRUE(parse_range("10.0.0.7").value().holds(parse_address("10.0.0.7").value()));
  EXPECT_FALSE(parse_range("10.0.0.7").value().holds(parse_address("10.0.0.8").value()));
  for (const char* const text : {"10.0.0.0/33", "10.0.0.0/", "10.0.0/8", "ten", "::/129", "010.0.0.1"}) {
    EXPECT_FALSE(parse_range(text)) << text;
  }
}

}  // namespace addresses_test
}  // namespace sluice
