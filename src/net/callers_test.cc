#include "net/callers.h"

#include <gtest/gtest.h>

namespace sluice::net {
namespace callers_test {

TEST(Origins, Callers_are_counted_by_address_of_IPv4_and_by_network_of_IPv6) {
  Origins origins;
  const auto one = origins.of("192.0.2.1");
  EXPECT_EQ(origins.of("192.0.2.1"), one);
  EXPECT_NE(origins.of("192.0.2.2"), one);
  const auto network = origins.of("2001:db8:1:2::1");
  EXPECT_EQ(origins.of("2001:db8:1:2:ffff::9"), network);
  EXPECT_NE(origins.of("2001:db8:1:3::1"), network);
  const auto mapped = origins.of("::ffff:192.0.2.1");
  EXPECT_NE(origins.of("::ffff:192.0.2.2"), mapped);
}

TEST(Origins, An_origin_is_forgotten_with_its_last_connection) {
  Origins origins;
  {
    const Caller one("192.0.2.1", origins.of("192.0.2.1"));
    EXPECT_EQ(origins.count(), 1u);
    const Caller two("192.0.2.1", origins.of("192.0.2.1"));
    EXPECT_EQ(one.origin()->strangers, 2u);
  }
  EXPECT_EQ(origins.count(), 0u);
}

TEST(Callers, A_connection_counts_as_keyless_until_it_shows_a_key_or_ends) {
  const auto origin = std::make_shared<Origin>();
  {
    Caller greeted("192.0.2.1", origin);
    Caller caller = std::move(greeted);
    EXPECT_EQ(origin->strangers, 1u);
    EXPECT_FALSE(caller.is_known());
    caller.show_key();
    caller.show_key();
    EXPECT_TRUE(caller.is_known());
    EXPECT_EQ(origin->strangers, 0u);
    Caller other("192.0.2.1", origin);
    other.leave();
    EXPECT_EQ(origin->strangers, 0u);
  }
  EXPECT_EQ(origin->strangers, 0u);
}

}  // namespace callers_test
}  // namespace sluice::net
