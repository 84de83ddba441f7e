// Scrubbers that are built elsewhere and used again.
#include <gtest/gtest.h>

#include "vault/vault.h"
#include "world/fake_world.h"

namespace sluice::vault {
namespace scrubbers_test {

class ScrubbersTest : public testing::Test {
 protected:
  static std::vector<Secret> large(const std::string& mark, int count = 3) {
    std::vector<Secret> secrets;
    for (int i = 0; i < count; ++i) {
      secrets.push_back({"K" + std::to_string(i), mark + std::to_string(i) + std::string(200, 'x') + mark});
    }
    return secrets;
  }
  bool use(const std::shared_ptr<Secrets>& secrets, std::vector<Secret> by) {
    auto done = std::make_shared<bool>(false);
    scrubbers.replace(secrets, std::move(by), [done] { *done = true; });
    const bool at_once = *done;
    loop.settle();
    EXPECT_TRUE(*done);
    return at_once;
  }

  world::FakeLoop loop;
  world::FakeWorkers workers{loop};
  Scrubbers scrubbers{loop, &workers};
};

TEST_F(ScrubbersTest, A_run_with_the_same_secrets_builds_nothing) {
  const auto first = std::make_shared<Secrets>();
  EXPECT_FALSE(use(first, large("a"))) << "a worker builds it";
  EXPECT_TRUE(first->scrubber()->finds(large("a")[1].value));
  const auto second = std::make_shared<Secrets>();
  EXPECT_TRUE(use(second, large("a")));
  EXPECT_EQ(scrubbers.built(), 1);
  EXPECT_EQ(second->scrubber(), first->scrubber());
  use(second, large("a"));
  EXPECT_EQ(scrubbers.built(), 1) << "also when they are read again";
  use(second, large("b"));
  EXPECT_EQ(scrubbers.built(), 2);
  EXPECT_TRUE(second->scrubber()->finds(large("a")[1].value)) << "what was in use is looked for on";
  EXPECT_TRUE(second->scrubber()->finds(large("b")[1].value));
}

TEST_F(ScrubbersTest, A_token_of_the_runs_own_does_not_make_its_set_another) {
  use(std::make_shared<Secrets>(), large("a"));
  const auto secrets = std::make_shared<Secrets>();
  secrets->pin({"TOKEN", "a-token-of-this-run"});
  EXPECT_TRUE(use(secrets, large("a")));
  EXPECT_EQ(scrubbers.built(), 1);
  const auto text = "<a-token-of-this-run " + large("a")[0].value + ">";
  EXPECT_EQ(secrets->scrubber()->scrub(text), "<{{secret:TOKEN}} {{secret:K0}}>");
  ScrubStream stream(secrets->scrubber());
  std::string told;
  for (const char letter : text) told += stream.push({&letter, 1});
  EXPECT_EQ(told + stream.finish(), "<{{secret:TOKEN}} {{secret:K0}}>");
}

TEST_F(ScrubbersTest, Secrets_are_as_they_were_until_what_looks_for_them_is_there) {
  const auto secrets = std::make_shared<Secrets>();
  int done = 0;
  scrubbers.replace(secrets, large("a"), [&] { ++done; });
  EXPECT_EQ(secrets->find("K0"), nullptr);
  scrubbers.replace(secrets, {}, [&] { ++done; });
  EXPECT_EQ(done, 1) << "none are soon looked for";
  loop.settle();
  EXPECT_EQ(done, 2);
  EXPECT_EQ(secrets->find("K0"), nullptr) << "what was asked for last counts";
}

TEST_F(ScrubbersTest, Values_that_came_in_between_are_looked_for_too) {
  const auto secrets = std::make_shared<Secrets>();
  scrubbers.replace(secrets, large("a"), [] {});
  scrubbers.replace(secrets, large("b"), [] {});
  loop.settle();
  EXPECT_EQ(secrets->find("K0")->value, large("b")[0].value);
  EXPECT_TRUE(secrets->scrubber()->finds(large("a")[0].value));
  EXPECT_TRUE(secrets->scrubber()->finds(large("b")[0].value));
}

TEST_F(ScrubbersTest, What_was_not_asked_for_in_a_while_is_forgotten) {
  use(std::make_shared<Secrets>(), large("a"));
  loop.advance(Millis{3'600'000});
  use(std::make_shared<Secrets>(), large("b"));
  use(std::make_shared<Secrets>(), large("a"));
  EXPECT_EQ(scrubbers.built(), 3);
}

TEST_F(ScrubbersTest, What_is_under_way_when_they_go_is_dropped) {
  auto dropped = std::make_unique<Scrubbers>(loop, &workers);
  bool done = false;
  dropped->replace(std::make_shared<Secrets>(), large("a"), [&] { done = true; });
  dropped.reset();
  loop.settle();
  EXPECT_FALSE(done);
}

TEST(SecretsLookedFor, A_value_that_a_run_has_no_use_for_is_not_scrubbed_and_so_not_found_by_guessing) {
  Secrets secrets([](const Secret& secret) { return secret.alias != "PIN"; });
  secrets.replace({{"PIN", "47110815"}, {"KEY", "of-the-agent"}});
  ASSERT_NE(secrets.find("PIN"), nullptr);
  EXPECT_EQ(secrets.scrubber()->scrub("47110814 47110815 of-the-agent"), "47110814 47110815 {{secret:KEY}}");
}

}  // namespace scrubbers_test
}  // namespace sluice::vault
