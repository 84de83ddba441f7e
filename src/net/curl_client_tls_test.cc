// Whom the client believes: a certificate is checked, always, for its issuer and for its name.
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "net/net.h"

namespace sluice::net {
namespace curl_client_tls_test {

// Writes a certificate for `host`, signed by its own key, as `certificate_file` and `key_file`.
void write_certificate(const std::string& host, const std::string& certificate_file, const std::string& key_file) {
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(EVP_EC_gen("P-256"), &EVP_PKEY_free);
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(X509_new(), &X509_free);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -60);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 3600);
  X509_set_pubkey(certificate.get(), key.get());
  X509_NAME* const name = X509_get_subject_name(certificate.get());
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>(host.c_str()), -1, -1, 0);
  X509_set_issuer_name(certificate.get(), name);
  X509_sign(certificate.get(), key.get(), EVP_sha256());

  const std::unique_ptr<std::FILE, decltype(&std::fclose)> out(std::fopen(certificate_file.c_str(), "w"), &std::fclose);
  PEM_write_X509(out.get(), certificate.get());
  const std::unique_ptr<std::FILE, decltype(&std::fclose)> key_out(std::fopen(key_file.c_str(), "w"), &std::fclose);
  PEM_write_PrivateKey(key_out.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
}

struct Outcome final : CallListener {
  explicit Outcome(world::Reactor& reactor) : reactor(reactor) {}
  void on_head(int, const Headers&) override {}
  void on_body(std::string_view bytes) override { body += bytes; }
  void on_end(CallEnd how) override {
    end = std::move(how);
    reactor.stop();
  }
  world::Reactor& reactor;
  std::string body;
  CallEnd end;
};

class CurlClientTls : public testing::Test {
 protected:
  CurlClientTls() {
    for (const char* name : {"http_proxy", "https_proxy", "all_proxy"}) unsetenv(name);
    std::filesystem::create_directories(directory);
    auto made = world::make_reactor();
    SLUICE_CHECK(bool(made));
    reactor = std::move(made).take();
  }
  ~CurlClientTls() override { std::filesystem::remove_all(directory); }

  // Asks a server that has a certificate for `host` as https://localhost.
  Outcome ask(const std::string& host, ClientOptions options) {
    write_certificate(host, certificate_file, directory / "key.pem");
    const auto answer = [this](const std::shared_ptr<Exchange>& exchange) {
      ++request_count;
      exchange->respond({.body = "secret"});
    };
    auto server = serve(*reactor, {.tls_certificate_file = certificate_file, .tls_key_file = directory / "key.pem"},
                        answer, nullptr, metrics);
    EXPECT_TRUE(server) << server.error().what;
    auto client = make_client(*reactor, std::move(options));
    Outcome outcome(*reactor);
    const auto guard = reactor->after(Millis{20'000}, [this] { reactor->stop(); });
    const auto call =
        client.value()->call({.url = "https://localhost:" + std::to_string(server.value()->port()) + "/"}, outcome);
    reactor->run();
    return outcome;
  }

  const std::filesystem::path directory =
      std::filesystem::temp_directory_path() / ("sluice-client-tls-" + std::to_string(getpid()));
  const std::string certificate_file = directory / "certificate.pem";
  std::unique_ptr<world::Reactor> reactor;
  world::Metrics metrics;
  int request_count = 0;
};

TEST_F(CurlClientTls, Believes_a_certificate_whose_issuer_it_was_given) {
  const auto outcome = ask("localhost", {.ca_file = certificate_file});
  EXPECT_FALSE(outcome.end.failure) << outcome.end.what;
  EXPECT_EQ(outcome.body, "secret");
}

TEST_F(CurlClientTls, A_certificate_of_an_unknown_issuer_is_refused) {
  const auto outcome = ask("localhost", {});
  EXPECT_EQ(outcome.end.failure, CallFailure::unreachable) << outcome.end.what;
  EXPECT_EQ(request_count, 0) << "nothing may be sent to a stranger";
}

TEST_F(CurlClientTls, A_certificate_for_another_name_is_refused) {
  const auto outcome = ask("elsewhere.example", {.ca_file = certificate_file});
  EXPECT_EQ(outcome.end.failure, CallFailure::unreachable) << outcome.end.what;
  EXPECT_EQ(request_count, 0);
}

}  // namespace curl_client_tls_test
}  // namespace sluice::net
