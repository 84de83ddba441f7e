#include "installation/options.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace sluice::installation {
namespace options_test {

Config config_with(std::vector<std::string> flags) {
  auto config = Config::read({std::move(flags), {}});
  EXPECT_TRUE(config);
  return std::move(config).take();
}

TEST(Options, Connections_get_at_most_half_of_the_file_descriptors) {
  rlimit usual{};
  getrlimit(RLIMIT_NOFILE, &usual);
  const rlimit few{.rlim_cur = 300, .rlim_max = usual.rlim_max};
  setrlimit(RLIMIT_NOFILE, &few);
  const config::ListenAddress address{.host = "127.0.0.1"};
  const auto config = config_with({"--limits.connections_max", "200"});
  const auto clamped = server_options(config, address, "/d");
  EXPECT_EQ(clamped.connections_max, 150u);
  EXPECT_EQ(clamped.keyless_connections_per_address_max, 75u);
  EXPECT_EQ(connections_max(config, true), std::min<std::size_t>(200, usual.rlim_max / 2));
  EXPECT_EQ(server_options(config_with({"--limits.connections_max", "100"}), address, "/d").connections_max, 100u);
  const auto limited = config_with({"--limits.keyless_connections_per_address", "7"});
  EXPECT_EQ(server_options(limited, address, "/d").keyless_connections_per_address_max, 7u);
  setrlimit(RLIMIT_NOFILE, &usual);
}

TEST(Options, The_store_is_in_the_data_directory_unless_store_url_names_another_place) {
  EXPECT_EQ(sqlite_options(config_with({}), "/d/sluice.db").take().path, "/d/sluice.db");
  const auto options = sqlite_options(config_with({"--store", "sqlite:/x.db", "--store.durability", "strict"}), "/d");
  ASSERT_TRUE(options);
  EXPECT_EQ(options.value().path, "/x.db");
  EXPECT_TRUE(options.value().strict);
  EXPECT_FALSE(sqlite_options(config_with({"--store", "redis://x"}), "/d"));
}

TEST(Options, An_unknown_default_provider_is_reported_before_the_start) {
  const auto wrong = check_config(config_with({"--models.default_provider", "antropic"}));
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().what, "models.default_provider names no provider: \"antropic\"; did you mean anthropic?");
  EXPECT_FALSE(check_config(config_with({"--tls-cert", "c.pem"})));
  EXPECT_TRUE(check_config(config_with({})));
}

std::string complaint_about(std::vector<std::string> flags) {
  const auto fine = check_config(config_with(std::move(flags)));
  return fine ? "none" : fine.error().what;
}

TEST(Options, An_admin_key_that_is_short_or_of_another_kind_is_refused) {
  EXPECT_EQ(complaint_about({"--server.admin_key", "sk_adm_0123456789abc"}), "none");
  EXPECT_EQ(complaint_about({"--server.admin_key", "sk_adm_short"}),
            "server.admin_key must begin with sk_adm_ and have at least 20 characters, not 12");
  EXPECT_EQ(complaint_about({"--server.admin_key", "sk_int_0123456789abcdef"}),
            "server.admin_key must begin with sk_adm_ and have at least 20 characters; it begins otherwise");
}

TEST(Options, S_8_an_invalid_runner_url_is_reported_before_the_start) {
  for (const auto* wrong : {"garbage", "ftp://x", "http://", "http://user:password@x", "10.0.0.5:8090"}) {
    const auto words = ": \"" + std::string(wrong) + "\" must be the http or https URL of a runner, such as ";
    EXPECT_EQ(complaint_about({"--runner", "http://one:8090|" + std::string(wrong)}).substr(0, 11 + words.size()),
              "runner.urls" + words);
    const auto config = Config::read({{}, {{"SANDBOX_URL", wrong}}});
    ASSERT_TRUE(config);
    const auto fine = check_config(config.value());
    ASSERT_FALSE(fine) << wrong;
    EXPECT_EQ(fine.error().what.substr(0, 11 + words.size()), "SANDBOX_URL" + words);
  }
  EXPECT_EQ(complaint_about({"--runner", "http://one:8090|https://two.example/runner/"}), "none");
}

TEST(Options, A_missing_tls_file_is_reported_with_the_reason) {
  EXPECT_EQ(complaint_about({"--tls-cert", "/nowhere/c.pem", "--tls-key", "/nowhere/k.pem"}),
            "server.tls_cert: the file /nowhere/c.pem cannot be read: No such file or directory");
}

TEST(Options, A_rule_for_model_urls_must_be_a_url) {
  EXPECT_EQ(complaint_about({"--models.agent_base_urls", "http://gpu:8000/v1|*"}), "none");
  EXPECT_TRUE(complaint_about({"--models.agent_base_urls", "gpu:8000"}).starts_with("models.agent_base_urls: \"gpu"));
  EXPECT_EQ(runner_options(config_with({"--models.agent_base_urls", "http://a|http://b"})).agent_base_urls,
            (std::vector<std::string>{"http://a", "http://b"}));
}

TEST(Options, Secrets_are_not_sent_in_plain_text_unless_the_operator_allows_it) {
  EXPECT_FALSE(runner_options(config_with({})).plaintext_secrets);
  EXPECT_TRUE(runner_options(config_with({"--egress.plaintext_secrets", "true"})).plaintext_secrets);
}

TEST(Options, Each_provider_reaches_the_runner_with_its_key) {
  const auto options =
      runner_options(config_with({"--providers.gpu.dialect", "openai-chat", "--providers.gpu.api_key", "k"}));
  EXPECT_EQ(options.providers.at("gpu").api_key, "k");
  EXPECT_EQ(options.providers.at("offline").dialect, "offline");
}

TEST(Options, The_source_of_a_providers_key_is_its_variable_or_its_setting) {
  auto config = Config::read({{"--providers.gpu.dialect", "openai-chat", "--providers.gpu.api_key_env", "GPU_KEY",
                               "--providers.set.dialect", "openai-chat", "--providers.set.api_key", "k"},
                              {{"GPU_KEY", "g"}, {"OPENAI_API_KEY", "o"}}});
  ASSERT_TRUE(config);
  const auto options = runner_options(config.value());
  EXPECT_EQ(options.providers.at("gpu").api_key, "g");
  EXPECT_EQ(options.providers.at("gpu").key_source, "GPU_KEY");
  EXPECT_EQ(options.providers.at("set").key_source, "providers.set.api_key");
  EXPECT_EQ(options.providers.at("openai-chat").key_source, "OPENAI_API_KEY");
}

}  // namespace options_test
}  // namespace sluice::installation
