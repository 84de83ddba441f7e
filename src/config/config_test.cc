#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "config/config.h"

namespace sluice::config {
namespace config_test {

class ConfigTest : public testing::Test {
 protected:
  void TearDown() override {
    if (!file.empty()) unlink(file.c_str());
  }
  void write_file(std::string_view content) {
    char path[] = "/tmp/sluice_config_test_XXXXXX";
    close(mkstemp(path));
    file = path;
    std::ofstream(file) << content;
    flags = {"--config", file};
  }
  Config read() {
    auto config = Config::read({flags, environment});
    EXPECT_TRUE(config) << config.error().what;
    return std::move(config).take();
  }
  std::string error() {
    const auto config = Config::read({flags, environment});
    if (config) return "no error";
    auto what = config.error().what;
    if (const auto at = what.find(file); !file.empty() && at != std::string::npos)
      what.replace(at, file.size(), "FILE");
    return what;
  }
  std::string source_of(const std::string& name) { return read().settings().at(name).source; }

  std::string file;
  std::vector<std::string> flags;
  Environment environment;
};

TEST_F(ConfigTest, Without_any_source_the_defaults_hold) {
  const auto config = read();
  EXPECT_EQ(config.text("server.listen"), "127.0.0.1:8080");
  EXPECT_EQ(config.integer("server.drain_seconds"), 20);
  EXPECT_FALSE(config.boolean("server.metrics_public"));
  EXPECT_EQ(config.list("filler.phrases").size(), 3u);
  EXPECT_EQ(config.provider_names(),
            (std::vector<std::string>{"anthropic", "offline", "openai-chat", "openai-responses"}));
}

TEST_F(ConfigTest, Each_default_is_a_value_its_own_key_takes) {
  auto config = read();
  for (const auto& key : config_keys()) {
    EXPECT_TRUE(config.set(std::string(key.name), key.fallback, "test")) << key.name;
  }
}

TEST_F(ConfigTest, A_flag_wins_over_a_variable_over_the_file_over_the_default) {
  EXPECT_EQ(source_of("server.drain_seconds"), "default");
  write_file("[server]\ndrain_seconds = 1\n");
  EXPECT_EQ(read().integer("server.drain_seconds"), 1);
  EXPECT_EQ(source_of("server.drain_seconds"), file + ":2");
  environment = {{"SLUICE_SERVER_DRAIN_SECONDS", "2"}};
  EXPECT_EQ(read().integer("server.drain_seconds"), 2);
  EXPECT_EQ(source_of("server.drain_seconds"), "SLUICE_SERVER_DRAIN_SECONDS");
  flags.insert(flags.end(), {"--server.drain_seconds", "3"});
  EXPECT_EQ(read().integer("server.drain_seconds"), 3);
  EXPECT_EQ(source_of("server.drain_seconds"), "--server.drain_seconds");
}

TEST_F(ConfigTest, Short_flags_and_equals_signs_work) {
  flags = {"--listen=0.0.0.0:0", "--data", "/d", "--store", "sqlite:/x", "--tls-cert", "c", "--tls-key=k"};
  const auto config = read();
  EXPECT_EQ(config.text("server.listen"), "0.0.0.0:0");
  EXPECT_EQ(config.text("server.data"), "/d");
  EXPECT_EQ(config.text("store.url"), "sqlite:/x");
  EXPECT_EQ(config.text("server.tls_cert"), "c");
  EXPECT_EQ(config.text("server.tls_key"), "k");
}

TEST_F(ConfigTest, The_file_may_be_named_by_a_variable) {
  write_file("[log]\nformat = \"json\"\n");
  flags.clear();
  environment = {{"SLUICE_CONFIG", file}};
  EXPECT_EQ(read().text("log.format"), "json");
}

TEST_F(ConfigTest, Unknown_names_are_errors_with_a_suggestion) {
  flags = {"--server.lsten", "x"};
  EXPECT_EQ(error(), "unknown flag --server.lsten; did you mean --server.listen?");
  flags = {"--lisen", "x"};
  EXPECT_EQ(error(), "unknown flag --lisen; did you mean --listen?");
  flags = {"--limts.x", "3"};
  EXPECT_TRUE(error().starts_with("unknown flag --limts.x; there are --limits.request_body_bytes_max, --limits.conn"))
      << error();
  flags = {"--limts.connections_max", "3"};
  EXPECT_EQ(error(), "unknown flag --limts.connections_max; did you mean --limits.connections_max?");
  flags = {"--providers.mine.baseurl", "x"};
  EXPECT_EQ(error(), "unknown flag --providers.mine.baseurl; did you mean --providers.mine.base_url?");
  flags = {"--completely-different", "x"};
  EXPECT_EQ(error(), "unknown flag --completely-different");
  flags.clear();
  environment = {{"SLUICE_SERVER_LISEN", "x"}};
  EXPECT_EQ(error(), "unknown environment variable SLUICE_SERVER_LISEN; did you mean SLUICE_SERVER_LISTEN?");
  environment.clear();
  write_file("[server]\n\nlisen = \"x\"\n");
  EXPECT_EQ(error(), "FILE:3: unknown key server.lisen; did you mean server.listen?");
  write_file("[sever]\nlisten = \"x\"\n");
  EXPECT_EQ(error(), "FILE:1: unknown section [sever]; did you mean [server]?");
  write_file("[providers.mine]\ndialect = \"offline\"\nbaseurl = \"x\"\n");
  EXPECT_EQ(error(), "FILE:3: unknown key providers.mine.baseurl; did you mean providers.mine.base_url?");
}

TEST_F(ConfigTest, Wrong_types_are_named_with_file_and_line) {
  write_file("[server]\nlisten = 8080\n");
  EXPECT_EQ(error(), "FILE:2: server.listen must be text in quotes, not an integer");
  write_file("[server]\ndrain_seconds = \"soon\"\n");
  EXPECT_EQ(error(), "FILE:2: server.drain_seconds must be an integer, not text");
  write_file("[server]\nmetrics_public = 1\n");
  EXPECT_EQ(error(), "FILE:2: server.metrics_public must be true or false, not an integer");
  write_file("[filler]\nphrases = [\n\"a\",\n7]\n");
  EXPECT_EQ(error(), "FILE:4: filler.phrases must be a list of texts, not an integer");
  write_file("[log]\nlevel = \"loud\"\n");
  EXPECT_EQ(error(), "FILE:2: log.level must be one of debug, info, warn, error, not \"loud\"");
  write_file("[store]\nreaders = 0\n");
  EXPECT_EQ(error(), "FILE:2: store.readers must be at least 1, not 0");
  write_file("[server\n");
  EXPECT_TRUE(error().starts_with("FILE:1: ")) << error();
}

TEST_F(ConfigTest, A_file_that_is_not_TOML_is_reported_with_the_line) {
  for (const std::string broken :
       {"\n[\n", "\n[[\n", "\n[ = 1", "\n= 1", "\na.\n = 1", "\n[server", "\n[]", "\na = {\n"}) {
    write_file(broken);
    EXPECT_TRUE(error().starts_with("FILE:")) << broken << error();
  }
}

TEST_F(ConfigTest, Characters_beyond_ASCII_are_accepted_in_quotes_and_comments_only) {
  write_file(
      "\xef\xbb\xbf"
      R"toml(# ȍ "
[filler] # 'é
phrases = ["ȍ # \"é\\", 'é', """
A
"é""""", '''ȍ'''] # é
)toml");
  EXPECT_EQ(error(), "no error");
  for (const std::string stray : {"\n[ȍ]\n", "\nȍ = 1\n", "\na = ȍ\n", "'''\n'''ȍ", "a = \"\"\n é", "# é\né"}) {
    write_file(stray);
    EXPECT_EQ(error(), "FILE:2: a character that is not ASCII stands here outside of quotes") << stray;
  }
}

TEST_F(ConfigTest, Wrong_values_of_variables_and_flags_are_named) {
  environment = {{"SLUICE_SERVER_METRICS_PUBLIC", "yes"}};
  EXPECT_EQ(error(), "SLUICE_SERVER_METRICS_PUBLIC: server.metrics_public must be true or false, not \"yes\"");
  environment.clear();
  flags = {"--limits.connections_max", "12x"};
  EXPECT_EQ(error(), "--limits.connections_max: limits.connections_max must be an integer, not \"12x\"");
  flags = {"--listen"};
  EXPECT_EQ(error(), "flag --listen needs a value");
  flags = {"extra"};
  EXPECT_EQ(error(), "unexpected argument extra");
  flags = {"--config", "/nowhere/sluice.toml"};
  EXPECT_NE(error(), "no error");
}

TEST_F(ConfigTest, Providers_come_from_the_file_from_variables_and_from_the_vendors_variables) {
  write_file(
      "[providers.local]\ndialect = \"openai-chat\"\nbase_url = \"http://gpu:8000\"\napi_key_env = \"GPU_KEY\"\n");
  environment = {{"GPU_KEY", "g"},
                 {"ANTHROPIC_API_KEY", "a"},
                 {"OPENAI_BASE_URL", "http://proxy"},
                 {"SLUICE_PROVIDERS_OPENAI_CHAT_API_KEY", "c"},
                 {"SLUICE_PROVIDERS_EXTRA_DIALECT", "anthropic"}};
  const auto config = read();
  EXPECT_EQ(config.provider("local", "api_key"), "g");
  EXPECT_EQ(config.provider("anthropic", "api_key"), "a");
  EXPECT_EQ(config.provider("openai-responses", "base_url"), "http://proxy");
  EXPECT_EQ(config.provider("openai-chat", "api_key"), "c");
  EXPECT_EQ(config.provider("openai-responses", "api_key"), "");
  EXPECT_EQ(config.provider("extra", "dialect"), "anthropic");
  environment = {{"SLUICE_PROVIDERS_EXTRA_BASE_URL", "http://x"}};
  EXPECT_TRUE(error().starts_with("providers.extra has no dialect")) << error();
}

TEST_F(ConfigTest, A_printed_configuration_reads_back_unchanged_and_hides_secrets) {
  environment = {{"SLUICE_SERVER_ADMIN_KEY", "sk_adm_very_secret_indeed"},
                 {"ANTHROPIC_API_KEY", "sk-ant-0123456789abcdef"}};
  flags = {"--server.public_base_url", "http://\"quoted\\\""};
  const auto printed = to_toml(read());
  EXPECT_EQ(printed.find("very_secret"), std::string::npos);
  EXPECT_EQ(printed.find("sk-ant"), std::string::npos);
  EXPECT_EQ(to_json(read()).find("very_secret"), std::string::npos);
  EXPECT_NE(printed.find("# SLUICE_SERVER_ADMIN_KEY"), std::string::npos);
  environment.clear();
  write_file(printed);
  EXPECT_EQ(read().text("server.public_base_url"), "http://\"quoted\\\"");
  EXPECT_EQ(read().list("filler.phrases").size(), 3u);
}

TEST_F(ConfigTest, A_configuration_is_printed_without_the_passwords_in_its_URLs) {
  flags = {"--runner", "https://one:hunter2@runner.example/r|https://two.example:8443"};
  for (const std::string url :
       {"postgresql://me:hunter2@db.example:5432/sluice", "postgresql://me:hunter2/@x@db/sluice",
        "postgresql://me@db.example/sluice?password=hunter2&sslmode=require",
        "postgres://me@db.example/sluice?sslmode=require&sslpassword=hunter2"}) {
    environment = {{"SLUICE_STORE_URL", url}};
    for (const auto& printed : {to_toml(read()), to_json(read())}) {
      EXPECT_EQ(printed.find("hunter2"), std::string::npos) << url;
      EXPECT_NE(printed.find("://me"), std::string::npos) << url;
      EXPECT_NE(printed.find("https://two.example:8443"), std::string::npos);
    }
  }
}

std::string content_of(const std::string& path) {
  std::ostringstream content;
  content << std::ifstream(path).rdbuf();
  return content.str();
}

TEST_F(ConfigTest, The_page_in_docs_is_the_schema) {
  EXPECT_EQ(content_of(SLUICE_SOURCE_DIR "/docs/configuration.md"), reference_page())
      << "run: build/sluice config --reference > docs/configuration.md";
}

TEST_F(ConfigTest, The_example_file_is_accepted) {
  flags = {"--config", SLUICE_SOURCE_DIR "/examples/sluice.toml"};
  read();
}

TEST(Config, The_runner_can_be_named_by_its_usual_variable_S_8) {  // S-8
  const auto named = Config::read({{}, {{"SANDBOX_URL", "http://runner:9000"}}});
  ASSERT_TRUE(named);
  EXPECT_EQ(named.value().list("runner.urls"), std::vector<std::string>{"http://runner:9000"});
  const auto flagged = Config::read({{"--runner", "http://other:9000"}, {{"SANDBOX_URL", "http://runner:9000"}}});
  ASSERT_TRUE(flagged);
  EXPECT_EQ(flagged.value().list("runner.urls"), std::vector<std::string>{"http://other:9000"});
}

TEST(ListenAddress, An_address_is_parsed_and_printed_as_in_a_url) {
  const auto printed = [](std::string_view text) {
    const auto address = parse_listen_address(text);
    return address ? address.value().authority(7) + " " + address.value().local_authority(7) : "wrong";
  };
  EXPECT_EQ(printed("127.0.0.1:8080"), "127.0.0.1:7 127.0.0.1:7");
  EXPECT_EQ(printed("0.0.0.0:0"), "0.0.0.0:7 127.0.0.1:7");
  EXPECT_EQ(printed(":80"), "0.0.0.0:7 127.0.0.1:7");
  EXPECT_EQ(printed("[::1]:80"), "[::1]:7 [::1]:7");
  EXPECT_EQ(printed("[::]:80"), "[::]:7 [::1]:7");
  EXPECT_EQ(printed("localhost:80"), "localhost:7 localhost:7");
  for (const auto* wrong : {"", "8080", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:70000", "::1:80"}) {
    EXPECT_EQ(printed(wrong), "wrong") << wrong;
  }
}

}  // namespace config_test
}  // namespace sluice::config
