#include "egress/authority.h"

#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "egress/egress.h"
#include "model/event_codec.h"
#include "world/fake_world.h"

namespace sluice::egress {
namespace authority_test {

class AuthorityTest : public testing::Test {
 protected:
  ~AuthorityTest() override { std::filesystem::remove_all(directory); }

  Result<std::unique_ptr<Authority>> open() { return Authority::open(directory, "", loop, entropy, mint_time); }
  std::string read(const std::string& name) const {
    std::ifstream in(directory / name);
    std::ostringstream out;
    out << in.rdbuf();
    return std::move(out).str();
  }

  const std::filesystem::path directory =
      std::filesystem::temp_directory_path() / ("sluice-authority-" + std::to_string(getpid()));
  world::FakeLoop loop;
  world::FakeEntropy entropy;
  world::Metrics metrics;
  world::Histogram& mint_time = metrics.histogram("mint", "");
};

TEST_F(AuthorityTest, I_17_Is_made_once_with_a_key_that_only_its_owner_reads) {
  ASSERT_TRUE(open());
  const std::string certificate = read("ca.pem");
  struct stat about{};
  ASSERT_EQ(stat((directory / "ca.key").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0600u);
  ASSERT_TRUE(open());
  EXPECT_EQ(read("ca.pem"), certificate) << "the second start takes what the first made";
  EXPECT_TRUE(read("ca-bundle.pem").ends_with(certificate));
}

TEST_F(AuthorityTest, Says_what_is_wrong_with_its_files) {
  ASSERT_TRUE(open());
  std::filesystem::permissions(directory / "ca.key", std::filesystem::perms(0644));
  auto loose = open();
  ASSERT_FALSE(loose);
  EXPECT_NE(loose.error().what.find("chmod 600"), std::string::npos);
  std::filesystem::permissions(directory / "ca.key", std::filesystem::perms(0600));
  std::ofstream(directory / "ca.pem") << "nonsense";
  EXPECT_FALSE(open());
}

TEST_F(AuthorityTest, I_17_Signs_for_a_host_what_a_client_verifies) {
  const auto authority = open().take();
  SSL_CTX* const context = authority->context_for({.host = "api.test"});
  X509* const leaf = SSL_CTX_get0_certificate(context);
  EXPECT_EQ(X509_check_host(leaf, "api.test", 0, 0, nullptr), 1);
  EXPECT_EQ(X509_check_host(leaf, "other.test", 0, 0, nullptr), 0);
  X509_STORE* const store = X509_STORE_new();
  X509_STORE_load_file(store, (directory / "ca.pem").c_str());
  X509_STORE_CTX* const check = X509_STORE_CTX_new();
  X509_STORE_CTX_init(check, store, leaf, nullptr);
  X509_STORE_CTX_set_default(check, "ssl_server");
  EXPECT_EQ(X509_verify_cert(check), 1) << X509_verify_cert_error_string(X509_STORE_CTX_get_error(check));
  X509_STORE_CTX_free(check);
  X509_STORE_free(store);
  EXPECT_EQ(
      X509_check_ip_asc(SSL_CTX_get0_certificate(authority->context_for({.host = "10.0.0.7", .is_address = true})),
                        "10.0.0.7", 0),
      1);
}

TEST_F(AuthorityTest, Keeps_what_it_signed_until_it_grows_old) {
  const auto authority = open().take();
  SSL_CTX* const first = authority->context_for({.host = "api.test"});
  SSL_CTX_up_ref(first);  // so that the next cannot have its address
  EXPECT_EQ(authority->context_for({.host = "api.test"}), first);
  loop.advance({4LL * 24 * 3600 * 1000});
  EXPECT_NE(authority->context_for({.host = "api.test"}), first);
  SSL_CTX_free(first);
}

TEST(Egress, Tells_commands_where_the_proxy_is_and_whom_to_trust) {
  const auto environment = proxy_environment();
  EXPECT_EQ(environment.at("https_proxy"), "http://127.0.0.1:3128");
  EXPECT_EQ(environment.at("NO_PROXY"), "localhost,127.0.0.1,::1");
  EXPECT_EQ(environment.at("NODE_EXTRA_CA_CERTS"), "/etc/ssl/certs/ca-certificates.crt");
}

TEST(Egress, A_request_is_an_event) {
  const auto body_of = [](const RequestRecord& record) { return model::encode(event_of(record), {}).body; };
  EXPECT_EQ(body_of({.host = "a.test",
                     .port = 443,
                     .method = "GET",
                     .status = 200,
                     .sent_bytes = 1,
                     .received_bytes = 2,
                     .aliases = {"A", "B"},
                     .duration_ms = 3}),
            R"({"host":"a.test","port":443,"method":"GET","status":200,"sent_bytes":1,"received_bytes":2,)"
            R"("aliases":["A","B"],"refused":null,"duration_ms":3})");
  EXPECT_NE(body_of({.host = "a", .refused = "no"}).find(R"("refused":"no")"), std::string::npos);
}

}  // namespace authority_test
}  // namespace sluice::egress
