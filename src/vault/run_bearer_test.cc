#include <gtest/gtest.h>

#include "vault/vault.h"

namespace sluice::vault {
namespace run_bearer_test {

BoxOwner owner() {
  return {*model::TenantId::parse("tnt_01j00000000000000000000001"),
          *model::RunId::parse("run_01j00000000000000000000002"), model::WorkspaceUse::read};
}

TEST(RunBearer, Names_its_run_and_tenant_and_is_the_same_after_a_restart) {
  const auto bearer = bearer_of("root", owner());
  EXPECT_TRUE(bearer.starts_with("asbx_run_01j00000000000000000000002."));
  EXPECT_EQ(bearer, bearer_of("root", owner()));
  const auto found = owner_of_bearer("root", bearer);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->run, owner().run);
  EXPECT_EQ(found->tenant, owner().tenant);
  EXPECT_EQ(found->use, model::WorkspaceUse::read);
}

TEST(RunBearer, One_that_is_good_for_reading_does_not_become_one_for_writing) {
  auto bearer = bearer_of("root", owner());
  const auto at = bearer.find(".read.");
  ASSERT_NE(at, std::string::npos);
  EXPECT_FALSE(owner_of_bearer("root", bearer.replace(at, 6, ".write.")));
}

TEST(RunBearer, One_that_was_changed_anywhere_is_nobodys) {
  const auto bearer = bearer_of("root", owner());
  for (std::size_t at = 0; at < bearer.size(); ++at) {
    auto changed = bearer;
    changed[at] = changed[at] == 'a' ? 'b' : 'a';
    EXPECT_FALSE(owner_of_bearer("root", changed)) << changed;
  }
  EXPECT_FALSE(owner_of_bearer("root", bearer + "A"));
  EXPECT_FALSE(owner_of_bearer("root", bearer.substr(0, bearer.size() - 1)));
  EXPECT_FALSE(owner_of_bearer("another root", bearer));
  EXPECT_FALSE(owner_of_bearer("", bearer));
  for (const char* const text : {"", "asbx_", "asbx_.", "asbx_..", "asbx_run_01j00000000000000000000002"}) {
    EXPECT_FALSE(owner_of_bearer("root", text)) << text;
  }
}

}  // namespace run_bearer_test
}  // namespace sluice::vault
