#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "net/http2_client_fixture.h"

namespace sluice::net {
namespace tls_test {

// A certificate that its own key signed, in two files.
class TlsTest : public testing::Test {
 protected:
  TlsTest() {
    std::filesystem::create_directories(directory);
    write_certificate();
  }
  ~TlsTest() override { std::filesystem::remove_all(directory); }

  void write_certificate() const {
    EVP_PKEY* const key = EVP_EC_gen("P-256");
    X509* const certificate = X509_new();
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate), 0);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
    X509_set_pubkey(certificate, key);
    X509_NAME* const name = X509_get_subject_name(certificate);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("localhost"), -1, -1,
                               0);
    X509_set_issuer_name(certificate, name);
    X509_sign(certificate, key, EVP_sha256());
    std::FILE* const certificate_out = std::fopen(certificate_file.c_str(), "w");
    PEM_write_X509(certificate_out, certificate);
    std::fclose(certificate_out);
    std::FILE* const key_out = std::fopen(key_file.c_str(), "w");
    PEM_write_PrivateKey(key_out, key, nullptr, nullptr, 0, nullptr, nullptr);
    std::fclose(key_out);
    X509_free(certificate);
    EVP_PKEY_free(key);
  }
  ServerOptions options() const { return {.tls_certificate_file = certificate_file, .tls_key_file = key_file}; }

  const std::filesystem::path directory =
      std::filesystem::temp_directory_path() / ("sluice-tls-" + std::to_string(getpid()));
  const std::string certificate_file = directory / "certificate.pem";
  const std::string key_file = directory / "key.pem";
};

class TlsClient final : public Wire {
 public:
  explicit TlsClient(uint16_t port, int version = 0, std::string_view protocols = "\x08http/1.1") : socket_(port) {
    SSL_CTX_set_max_proto_version(context_, version);
    SSL_CTX_set_min_proto_version(context_, version);
    SSL_CTX_set_security_level(context_, 0);  // so that an old version is refused by the server, not by us
    session_ = SSL_new(context_);
    SSL_set_fd(session_, socket_.fd());
    if (!protocols.empty())
      SSL_set_alpn_protos(session_, reinterpret_cast<const unsigned char*>(protocols.data()),
                          static_cast<unsigned>(protocols.size()));
    connected = SSL_connect(session_) == 1;
  }
  ~TlsClient() override {
    SSL_free(session_);
    SSL_CTX_free(context_);
  }
  void say(std::string_view bytes) override { SSL_write(session_, bytes.data(), static_cast<int>(bytes.size())); }
  std::string hear_some() override {
    char bytes[4096];
    const int got = SSL_read(session_, bytes, sizeof bytes);
    return got > 0 ? std::string(bytes, static_cast<std::size_t>(got)) : "";
  }
  std::string hear_all() {
    std::string heard;
    char bytes[4096];
    for (int got = 0; (got = SSL_read(session_, bytes, sizeof bytes)) > 0;)
      heard.append(bytes, static_cast<std::size_t>(got));
    ended_cleanly = (SSL_get_shutdown(session_) & SSL_RECEIVED_SHUTDOWN) != 0;
    return heard;
  }
  std::string protocol() const {
    const unsigned char* name = nullptr;
    unsigned size = 0;
    SSL_get0_alpn_selected(session_, &name, &size);
    return {reinterpret_cast<const char*>(name), size};
  }

  bool connected = false;
  bool ended_cleanly = false;

 private:
  RawClient socket_;
  SSL_CTX* const context_ = SSL_CTX_new(TLS_client_method());
  SSL* session_ = nullptr;
};

void echo(std::shared_ptr<Exchange> exchange) { exchange->respond({.body = std::string(exchange->request().body)}); }

TEST_F(TlsTest, Requests_and_large_answers_pass) {
  LiveServer live(echo, options());
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    TlsClient client(live.port(), version);
    ASSERT_TRUE(client.connected);
    EXPECT_EQ(client.protocol(), "http/1.1");
    const std::string body(1'000'000, 'b');
    client.say("POST / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 1000000\r\n\r\n");
    client.say(body);
    EXPECT_TRUE(client.hear_all().ends_with("\r\n\r\n" + body));
    EXPECT_TRUE(client.ended_cleanly);
  }
}

TEST_F(TlsTest, Streams_pass) {
  LiveServer live(
      [](auto exchange) {
        exchange->start(200, {});
        for (int i = 0; i < 1000; ++i) exchange->write(std::make_shared<const std::string>(100, 'x'));
        exchange->finish();
      },
      options());
  TlsClient client(live.port());
  client.say("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  std::string chunks;
  for (int i = 0; i < 1000; ++i) chunks += "64\r\n" + std::string(100, 'x') + "\r\n";
  EXPECT_TRUE(client.hear_all().ends_with("\r\n\r\n" + chunks + "0\r\n\r\n"));
}

TEST_F(TlsTest, Old_versions_and_other_protocols_are_refused) {
  LiveServer live(echo, options());
  EXPECT_FALSE(TlsClient(live.port(), TLS1_1_VERSION).connected);
  EXPECT_FALSE(TlsClient(live.port(), 0, "\x06spdy/3").connected);
  EXPECT_TRUE(TlsClient(live.port(), 0, "\x06spdy/3\x08http/1.1").connected);
}

TEST_F(TlsTest, HTTP_2_is_used_with_clients_that_offer_it) {
  LiveServer live(echo, options());
  TlsClient client(live.port(), 0, "\x08http/1.1\x02h2");
  ASSERT_TRUE(client.connected);
  EXPECT_EQ(client.protocol(), "h2");
  Http2Client speaking(client);
  const std::string body(1'000'000, 'b');
  const auto& answer = speaking.whole(speaking.ask(Http2Client::post("/"), body));
  EXPECT_EQ(answer.status(), "200");
  EXPECT_EQ(answer.body, body);
  TlsClient older(live.port(), 0, "\x08http/1.1");
  EXPECT_EQ(older.protocol(), "http/1.1");
  TlsClient silent(live.port(), 0, "");
  silent.say("POST / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 1\r\n\r\nb");
  EXPECT_TRUE(silent.hear_all().ends_with("\r\n\r\nb"));
}

TEST_F(TlsTest, A_handshake_that_does_not_come_is_given_up) {
  ServerOptions hasty = options();
  hasty.request_head_ms_max = 200;
  LiveServer live(echo, hasty);
  RawClient silent(live.port());
  EXPECT_EQ(silent.hear_all(), "");
  RawClient plain(live.port());
  plain.say("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  plain.hear_all();
  EXPECT_TRUE(live.becomes_true([&] { return live.server().connection_count() == 0; }));
}

TEST_F(TlsTest, Says_which_file_is_unusable) {
  const auto reactor = world::make_reactor().take();
  world::Metrics metrics;
  const auto why = [&](const std::string& certificate, const std::string& key) {
    const auto server =
        serve(*reactor, {.tls_certificate_file = certificate, .tls_key_file = key}, echo, nullptr, metrics);
    return server ? "it works" : server.error().what;
  };
  const std::string missing = directory / "missing.pem";
  const std::string garbage = directory / "garbage.pem";
  std::ofstream(garbage) << "not a certificate";
  EXPECT_NE(why(missing, key_file).find("the TLS certificate " + missing + " cannot be used: "), std::string::npos);
  EXPECT_NE(why(garbage, key_file).find("the TLS certificate " + garbage + " cannot be used: "), std::string::npos);
  EXPECT_NE(why(certificate_file, missing).find("the TLS key " + missing + " cannot be used: "), std::string::npos);
  std::filesystem::copy_file(certificate_file, directory / "old.pem");
  write_certificate();
  const std::string mismatch = why(directory / "old.pem", key_file);
  EXPECT_NE(mismatch.find("key"), std::string::npos) << mismatch;
  EXPECT_EQ(why(certificate_file, key_file), "it works");
}

}  // namespace tls_test
}  // namespace sluice::net
