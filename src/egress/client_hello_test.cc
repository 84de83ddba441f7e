// What a tunnel's client asks for, as one or another client would write it.
#include "egress/client_hello.h"

#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include "egress/tls.h"

namespace sluice::egress {
namespace client_hello_test {

using Kind = ClientHello::Kind;

// As OpenSSL writes it; without a name when it is empty.
std::string hello_of(const std::string& name) {
  const OpenSslPtr<SSL_CTX> context(SSL_CTX_new(TLS_client_method()));
  const OpenSslPtr<SSL> session(SSL_new(context.get()));
  BIO* const out = BIO_new(BIO_s_mem());
  SSL_set_bio(session.get(), BIO_new(BIO_s_mem()), out);
  if (!name.empty()) SSL_set_tlsext_host_name(session.get(), name.c_str());
  SSL_connect(session.get());
  char* bytes = nullptr;
  const auto size = BIO_get_mem_data(out, &bytes);
  return {bytes, static_cast<std::size_t>(size)};
}

std::string fault(const std::string& bytes, int port = 443) {
  return fault_of(read_client_hello(bytes), "api.test", false, port);
}

TEST(ClientHello, Names_its_host) {
  const auto hello = read_client_hello(hello_of("api.test"));
  EXPECT_EQ(hello.kind, Kind::hello);
  EXPECT_EQ(hello.server_name, "api.test");
  EXPECT_EQ(fault(hello_of("api.test")), "");
  EXPECT_EQ(fault(hello_of("API.test")), "");
}

TEST(ClientHello, Is_waited_for_to_its_last_byte) {
  const auto bytes = hello_of("api.test");
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(read_client_hello(bytes.substr(0, size)).kind, Kind::incomplete) << size;
  }
  EXPECT_EQ(read_client_hello(bytes + "more").kind, Kind::hello);
}

TEST(ClientHello, May_be_cut_into_records) {
  const auto bytes = hello_of("api.test");
  const auto message = bytes.substr(5);
  std::string cut;
  for (std::size_t at = 0; at < message.size(); at += 7) {
    const auto piece = message.substr(at, 7);
    cut += std::string("\x16\x03\x01\x00", 4) + static_cast<char>(piece.size()) + piece;
  }
  EXPECT_EQ(read_client_hello(cut).server_name, "api.test");
}

TEST(ClientHello, That_asks_for_another_host_or_for_none_is_refused) {
  EXPECT_NE(fault(hello_of("other.test")).find("asks for another host"), std::string::npos);
  EXPECT_NE(fault(hello_of("sub.api.test")).find("asks for another host"), std::string::npos);
  EXPECT_NE(fault(hello_of("")).find("names no host"), std::string::npos);
  EXPECT_NE(fault(hello_of("other.test"), 8443), "") << "on every port";
  EXPECT_EQ(fault_of(read_client_hello(hello_of("")), "192.0.2.1", true, 443), "") << "an address is no name";
}

TEST(ClientHello, What_is_not_TLS_is_refused_where_only_the_web_speaks) {
  for (const std::string bytes : {"GET / HTTP/1.1", "ping", "\x16\x02\x01"}) {
    EXPECT_EQ(read_client_hello(bytes).kind, Kind::other);
    EXPECT_NE(fault(bytes, 443), "");
    EXPECT_NE(fault(bytes, 80), "");
    EXPECT_EQ(fault(bytes, 5432), "");
  }
}

TEST(ClientHello, That_is_damaged_is_refused) {
  auto bytes = hello_of("api.test");
  auto second_message = bytes;
  second_message[5] = 2;
  EXPECT_EQ(read_client_hello(second_message).kind, Kind::malformed);
  auto longer = bytes;
  longer[43] = '\x7f';  // the session's length
  EXPECT_NE(read_client_hello(longer).kind, Kind::other);
  EXPECT_NE(fault(longer), "");
  EXPECT_EQ(read_client_hello(std::string("\x16\x03\x01\xff\xff\x01", 6)).kind, Kind::malformed);
}

}  // namespace client_hello_test
}  // namespace sluice::egress
