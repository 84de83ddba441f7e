#include "app/parts.h"

#include <gtest/gtest.h>

namespace sluice::app {
namespace {

Config config_with(std::vector<std::string> flags) {
  auto config = Config::read({std::move(flags), {}});
  EXPECT_TRUE(config);
  return std::move(config).take();
}

TEST(ListenAddress, Is_read_and_said_as_a_url_says_it) {
  const auto said = [](std::string_view text) {
    const auto address = parse_listen_address(text);
    return address ? address.value().authority(7) + " " + address.value().local_authority(7) : "wrong";
  };
  EXPECT_EQ(said("127.0.0.1:8080"), "127.0.0.1:7 127.0.0.1:7");
  EXPECT_EQ(said("0.0.0.0:0"), "0.0.0.0:7 127.0.0.1:7");
  EXPECT_EQ(said(":80"), "0.0.0.0:7 127.0.0.1:7");
  EXPECT_EQ(said("[::1]:80"), "[::1]:7 [::1]:7");
  EXPECT_EQ(said("[::]:80"), "[::]:7 [::1]:7");
  EXPECT_EQ(said("localhost:80"), "localhost:7 localhost:7");
  for (const auto* wrong : {"", "8080", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:70000", "::1:80"}) {
    EXPECT_EQ(said(wrong), "wrong") << wrong;
  }
}

TEST(Parts, The_store_is_in_the_data_directory_unless_it_is_put_elsewhere) {
  EXPECT_EQ(sqlite_options(config_with({}), "/d/sluice.db").take().path, "/d/sluice.db");
  const auto options = sqlite_options(config_with({"--store", "sqlite:/x.db", "--store.durability", "strict"}), "/d");
  ASSERT_TRUE(options);
  EXPECT_EQ(options.value().path, "/x.db");
  EXPECT_TRUE(options.value().strict);
  EXPECT_FALSE(sqlite_options(config_with({"--store", "redis://x"}), "/d"));
}

TEST(Parts, A_default_provider_that_is_unknown_is_said_before_anything_starts) {
  const auto wrong = check_providers(config_with({"--models.default_provider", "antropic"}));
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().what, "models.default_provider names no provider: \"antropic\"; did you mean anthropic?");
  EXPECT_FALSE(check_providers(config_with({"--tls-cert", "c.pem"})));
  EXPECT_TRUE(check_providers(config_with({})));
}

TEST(Parts, Each_provider_reaches_the_runner_with_its_key) {
  const auto options =
      runner_options(config_with({"--providers.gpu.dialect", "openai-chat", "--providers.gpu.api_key", "k"}));
  EXPECT_EQ(options.providers.at("gpu").api_key, "k");
  EXPECT_EQ(options.providers.at("offline").dialect, "offline");
}

TEST(Parts, The_line_to_paste_reads_the_key_from_the_file) {
  const auto line = curl_line("http://127.0.0.1:1", "/my data/bootstrap.json", "");
  EXPECT_NE(line.find("'/my data/bootstrap.json'"), std::string::npos) << line;
  EXPECT_EQ(line.find("sk_"), std::string::npos);
  EXPECT_EQ(shell_quoted("it's"), "'it'\\''s'");
}

}  // namespace
}  // namespace sluice::app
