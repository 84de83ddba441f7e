#include "egress/socks.h"

#include <gtest/gtest.h>

namespace sluice::egress {
namespace socks_test {

using Kind = SocksRead::Kind;

std::string bytes_of(std::initializer_list<int> bytes) {
  std::string out;
  for (const int byte : bytes) out += static_cast<char>(byte);
  return out;
}
std::string named(const std::string& host, int port, int command = 1) {
  return bytes_of({5, command, 0, 3, static_cast<int>(host.size())}) + host + bytes_of({port >> 8, port & 255});
}

TEST(Socks, A_greeting_is_whole_when_it_offers_to_come_without_a_password) {
  EXPECT_EQ(read_socks_greeting(bytes_of({5, 2, 2, 0, 9})).kind, Kind::whole);
  EXPECT_EQ(read_socks_greeting(bytes_of({5, 2, 2, 0, 9})).size, 4u);
  for (const auto& bytes : {std::string(), bytes_of({5}), bytes_of({5, 2, 0})}) {
    EXPECT_EQ(read_socks_greeting(bytes).kind, Kind::incomplete);
  }
  for (const auto& bytes : {bytes_of({4}), bytes_of({5, 0}), bytes_of({5, 1, 2}), std::string("GET / HTTP/1.1")}) {
    EXPECT_EQ(read_socks_greeting(bytes).kind, Kind::malformed);
  }
}

TEST(Socks, A_request_names_a_host_or_an_address) {
  const auto whole = named("Git.Example.", 443);
  const auto read = read_socks_request(whole + "more");
  EXPECT_EQ(read.kind, Kind::whole);
  EXPECT_EQ(read.size, whole.size());
  EXPECT_EQ(read.host, "git.example");
  EXPECT_EQ(read.port, 443);
  EXPECT_EQ(read.command, socks_connect);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(read_socks_request(whole.substr(0, size)).kind, Kind::incomplete) << size;
  }
  EXPECT_EQ(read_socks_request(bytes_of({5, 1, 0, 1, 10, 1, 2, 3, 0, 22})).host, "10.1.2.3");
  EXPECT_EQ(read_socks_request(bytes_of({5, 1, 0, 4}) + std::string(15, '\0') + bytes_of({1, 0, 22})).host, "::1");
  EXPECT_EQ(read_socks_request(named("10.1.2.3", 22)).host, "10.1.2.3");
  EXPECT_EQ(read_socks_request(named("0:0:0:0:0:0:0:1", 22)).host, "::1");
  EXPECT_EQ(read_socks_request(named("a", 1, 3)).command, 3) << "what it is asked for is the caller's business";
}

TEST(Socks, A_request_that_cannot_be_read_is_malformed) {
  for (const auto& bytes : {bytes_of({4}), bytes_of({5, 1, 0, 2, 0}), bytes_of({5, 1, 0, 3, 0})}) {
    EXPECT_EQ(read_socks_request(bytes).kind, Kind::malformed);
  }
  EXPECT_LE(named(std::string(255, 'a'), 65'535).size(), socks_bytes_max);
  EXPECT_EQ(read_socks_request(named(std::string(255, 'a'), 65'535)).port, 65'535);
}

}  // namespace socks_test
}  // namespace sluice::egress
