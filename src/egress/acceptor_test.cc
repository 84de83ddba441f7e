// Many connections at once do not keep the loop from its other work.
#include "egress/acceptor.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <list>

#include "egress/wire_fixture.h"

namespace sluice::egress {
namespace acceptor_test {

TEST(Acceptor, Accepts_a_bounded_number_of_connections_in_a_row) {
  constexpr int total = 120;  // fits the listener's backlog
  const auto reactor = world::make_reactor().take();
  uint16_t port = 0;
  auto listener = listen_on_loopback(port);
  std::list<Client> clients;
  for (int i = 0; i < total; ++i) clients.emplace_back(port);
  int admitted = 0, in_a_row = 0, in_a_row_max = 0;
  Acceptor acceptor(*reactor, std::move(listener), [&](const OwnedFd&) {
    in_a_row_max = std::max(in_a_row_max, ++in_a_row);
    if (++admitted == total) reactor->stop();
  });
  Callback<void()> turn;
  turn = [&] {
    in_a_row = 0;
    reactor->post([&] { turn(); });
  };
  turn();
  reactor->run();
  EXPECT_EQ(admitted, total);
  EXPECT_EQ(in_a_row_max, Acceptor::accepts_per_turn_max);
}

}  // namespace acceptor_test
}  // namespace sluice::egress
