// Tenants' settings, agents' policies and where conversations' runs are carried out.
#include "cli/folder_fixture.h"

namespace sluice::cli {
namespace tenancy_test {

using TenancyTest = FolderTest;

TEST_F(TenancyTest, A_tenants_settings_are_changed_by_flags_and_the_rest_stays) {
  run({"tenants", "update", "tnt_1", "--weight", "2", "--max-running", "10", "--max-concurrent-sticky", "3",
       "--max-sticky-ttl-seconds", "600", "--require-bound-decisions", "yes", "--webhook-url", "https://h/x"});
  EXPECT_EQ(last(),
            R"(admin PATCH /v1/tenants/tnt_1 {"settings":{"weight":2,"max_running":10,"max_concurrent_sticky":3,)"
            R"("max_sticky_ttl_seconds":600,"require_bound_decisions":true,"webhook_url":"https://h/x"}})");
  run({"tenants", "update", "tnt_1", "--name", "Acme", "--webhook-url", ""});
  EXPECT_EQ(last(), R"(admin PATCH /v1/tenants/tnt_1 {"name":"Acme","settings":{"webhook_url":null}})");
  EXPECT_EQ(run({"tenants", "update", "tnt_1", "--weight", "heavy"}), exit_usage);
  EXPECT_EQ(run({"tenants", "update", "tnt_1", "--require-bound-decisions", "maybe"}), exit_usage);
  run({"tenants", "webhook-secret", "tnt_1"});
  EXPECT_EQ(last(), "admin GET /v1/tenants/tnt_1/webhook-secret");
}

TEST_F(TenancyTest, An_agents_policy_is_a_list_of_rules_in_a_file) {
  const auto file = write("policy.json", "[ {\"effect\": \"allow\", \"host\": \"api.example.com\"} ]\n");
  run({"agents", "update", "agt_1", "--policy", file});
  EXPECT_EQ(last(), R"(PATCH /v1/agents/agt_1 {"policy":[{"effect":"allow","host":"api.example.com"}]})");
  EXPECT_EQ(run({"agents", "update", "agt_1", "--policy", write("object.json", "{}")}), exit_usage);
  EXPECT_TRUE(reports("must be a list of rules")) << console.errors;
  EXPECT_EQ(run({"agents", "update", "agt_1", "--policy", "/nowhere"}), exit_usage);
}

TEST_F(TenancyTest, The_key_to_a_provider_is_named_by_its_alias) {
  run({"agents", "create", "w", "--provider", "p", "--model", "m", "--key-alias", "MODEL_KEY"});
  EXPECT_EQ(last(), R"(POST /v1/agents {"name":"w","model":{"provider":"p","name":"m","key_alias":"MODEL_KEY"}})");
  EXPECT_EQ(run({"agents", "update", "agt_1", "--key-alias", "MODEL_KEY"}), exit_usage);
}

TEST_F(TenancyTest, A_conversation_is_placed_when_it_is_made_and_moved_later) {
  run({"chat", "--mode", "sticky", "--sticky-ttl-seconds", "600"});
  EXPECT_EQ(last(), R"(POST /v1/conversations {"runtime":{"mode":"sticky","sticky_ttl_seconds":600}})");
  run({"conversations", "create", "--title", "Ledger", "--mode", "pooled"});
  EXPECT_EQ(last(), R"(POST /v1/conversations {"title":"Ledger","runtime":{"mode":"pooled"}})");
  run({"conversations", "update", "con_1", "--sticky-ttl-seconds", "60"});
  EXPECT_EQ(last(), R"(PATCH /v1/conversations/con_1 {"runtime":{"sticky_ttl_seconds":60}})");
  const auto asked = remote.asked.size();
  EXPECT_EQ(run({"send", "--conversation", "con_1", "--mode", "sticky", "hi"}), exit_usage);
  EXPECT_TRUE(reports("conversations update con_1 --mode MODE")) << console.errors;
  EXPECT_EQ(run({"conversations", "create", "--sticky-ttl-seconds", "long"}), exit_usage);
  EXPECT_EQ(remote.asked.size(), asked);
}

}  // namespace tenancy_test
}  // namespace sluice::cli
