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
    scrubbers.replace({tenant}, secrets, std::move(by), [done] { *done = true; });
    const bool at_once = *done;
    loop.settle();
    EXPECT_TRUE(*done);
    return at_once;
  }

  static model::TenantId tenant_of(char letter) {
    model::TenantId id;
    id.ulid.bytes[0] = static_cast<uint8_t>(letter);
    return id;
  }

  world::FakeLoop loop;
  world::FakeWorkers threads{loop};
  world::SharedWorkers workers{threads, {.at_once_max = 8, .of_party_max = 2}};
  Scrubbers scrubbers{loop, &workers};
  const model::TenantId tenant = tenant_of('a');
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
  std::string scrubbed;
  for (const char letter : text) scrubbed += stream.push({&letter, 1});
  EXPECT_EQ(scrubbed + stream.finish(), "<{{secret:TOKEN}} {{secret:K0}}>");
}

TEST_F(ScrubbersTest, Secrets_are_as_they_were_until_what_looks_for_them_is_there) {
  const auto secrets = std::make_shared<Secrets>();
  int done = 0;
  scrubbers.replace({tenant}, secrets, large("a"), [&] { ++done; });
  EXPECT_EQ(secrets->find("K0"), nullptr);
  scrubbers.replace({tenant}, secrets, {}, [&] { ++done; });
  EXPECT_EQ(done, 1) << "none are soon looked for";
  loop.settle();
  EXPECT_EQ(done, 2);
  EXPECT_EQ(secrets->find("K0"), nullptr) << "what was asked for last counts";
}

TEST_F(ScrubbersTest, Values_that_came_in_between_are_looked_for_too) {
  const auto secrets = std::make_shared<Secrets>();
  scrubbers.replace({tenant}, secrets, large("a"), [] {});
  scrubbers.replace({tenant}, secrets, large("b"), [] {});
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
  dropped->replace({tenant}, std::make_shared<Secrets>(), large("a"), [&] { done = true; });
  dropped.reset();
  loop.settle();
  EXPECT_FALSE(done);
}

// What is asked for, and how it comes out.
class Wish {
 public:
  explicit Wish(const std::string& mark) : mark_(mark) {}
  bool wanted = true;
  bool done = false;
  std::shared_ptr<Secrets> secrets = std::make_shared<Secrets>();

  void ask(Scrubbers& scrubbers, model::TenantId tenant, bool stands_still = false) {
    scrubbers.replace({tenant, [this] { return wanted; }, stands_still}, secrets,
                      {{"K", mark_ + std::string(600, 'x')}}, [this] { done = true; });
  }

 private:
  std::string mark_;
};

TEST_F(ScrubbersTest, A_tenant_with_many_large_sets_does_not_keep_another_tenant_waiting) {
  threads.answered_until_held = 0;
  std::vector<std::unique_ptr<Wish>> many;
  for (int i = 0; i < 12; ++i) {
    many.push_back(std::make_unique<Wish>("many" + std::to_string(i)));
    many.back()->ask(scrubbers, tenant);
  }
  EXPECT_EQ(threads.held(), 1u) << "one at a time of a tenant";
  Wish second("second"), third("third");
  second.ask(scrubbers, tenant_of('b'));
  third.ask(scrubbers, tenant_of('c'));
  EXPECT_EQ(threads.held(), 3u) << "those of other tenants are begun at once";
  threads.release();
  loop.settle();
  EXPECT_TRUE(second.done);
  EXPECT_TRUE(third.done);
  EXPECT_TRUE(many.back()->done);
}

TEST_F(ScrubbersTest, A_tenants_runs_wait_while_others_of_it_hold_as_much_as_may_be_held) {
  Scrubbers small(loop, &workers, 1);
  Wish first("first"), second("second"), third("third"), other("other");
  first.ask(small, tenant);
  second.ask(small, tenant);
  third.ask(small, tenant);
  other.ask(small, tenant_of('b'));
  loop.settle();
  EXPECT_TRUE(first.done);
  EXPECT_TRUE(other.done);
  loop.advance(Millis{60'000});
  EXPECT_FALSE(second.done) << "the first run still has its own";
  second.wanted = false;
  first.secrets.reset();
  loop.advance(Millis{1'000});
  EXPECT_FALSE(second.done) << "it was cancelled, and nothing was built for it";
  EXPECT_TRUE(third.done);
  EXPECT_EQ(small.built(), 3);
}

TEST_F(ScrubbersTest, Runs_that_stand_still_do_not_wait_for_each_other_for_good) {
  Scrubbers small(loop, &workers, 1);
  Wish first("first"), second("second");
  first.ask(small, tenant);
  second.ask(small, tenant, true);
  loop.settle();
  EXPECT_FALSE(second.done);
  loop.advance(Millis{60'000});
  EXPECT_TRUE(second.done);
}

TEST_F(ScrubbersTest, What_a_run_still_uses_is_not_built_again_when_it_is_no_longer_kept) {
  const auto first = std::make_shared<Secrets>();
  use(first, large("a"));
  loop.advance(Millis{3'600'000});
  use(std::make_shared<Secrets>(), large("b"));
  const auto second = std::make_shared<Secrets>();
  use(second, large("a"));
  EXPECT_EQ(second->scrubber(), first->scrubber());
  EXPECT_EQ(scrubbers.built(), 2);
}

TEST(SecretsLookedFor, A_value_that_a_run_has_no_use_for_is_not_scrubbed_and_so_not_found_by_guessing) {
  Secrets secrets([](const Secret& secret) { return secret.alias != "PIN"; });
  secrets.replace({{"PIN", "47110815"}, {"KEY", "of-the-agent"}});
  ASSERT_NE(secrets.find("PIN"), nullptr);
  EXPECT_EQ(secrets.scrubber()->scrub("47110814 47110815 of-the-agent"), "47110814 47110815 {{secret:KEY}}");
}

}  // namespace scrubbers_test
}  // namespace sluice::vault
