#include "model/gates.h"

#include <gtest/gtest.h>

#include "model/json.h"

namespace sluice::model {
namespace gates_test {

template <typename AnyId>
AnyId some_id() {
  return AnyId{*parse_ulid("01hzx8c0000000000000000001")};
}

// I-14: the members and their order are those of the contract's example of a pause.
TEST(ApprovalJson, Is_spelt_as_the_contract_spells_it) {
  Approval approval{.id = some_id<ApprovalId>(),
                    .tenant_id = some_id<TenantId>(),
                    .conversation_id = some_id<ConversationId>(),
                    .message_id = some_id<MessageId>(),
                    .reason = "The CRM lookup requires a credential that is not on file for this conversation."};
  approval.requested_items = {{ItemKind::secret, "API key for the CRM system", "CRM_API_KEY", {}}};
  approval.expires_at = {900'000};
  EXPECT_EQ(
      to_json(approval),
      R"({"object":"approval","id":"apr_01hzx8c0000000000000000001","tenant_id":"tnt_01hzx8c0000000000000000001",)"
      R"("conversation_id":"con_01hzx8c0000000000000000001","message_id":"msg_01hzx8c0000000000000000001",)"
      R"("status":"pending","reason":"The CRM lookup requires a credential that is not on file for this )"
      R"(conversation.","requested_items":[{"kind":"secret","description":"API key for the CRM system",)"
      R"("alias":"CRM_API_KEY"}],"expires_at":"1970-01-01T00:15:00.000Z","resolved_by":null,"resolved_at":null,)"
      R"("created_at":"1970-01-01T00:00:00.000Z","updated_at":"1970-01-01T00:00:00.000Z"})");
}

TEST(ApprovalJson, Items_come_back_as_they_were) {
  const std::vector<RequestedItem> items = {{ItemKind::action, "say \"yes\"", std::nullopt, {}},
                                            {ItemKind::secret, "", "A", {"a.example", "*.b.example"}}};
  std::string text;
  json::Writer writer(text);
  append_items(writer, items);
  const auto document = json::Document::parse(text);
  ASSERT_TRUE(document);
  EXPECT_EQ(items_from_json(document.value().root()), items);
}

TEST(PolicyJson, Comes_back_as_it_was_and_what_is_unknown_denies) {
  const Policy policy = {{Effect::ask, Subject::command, "git push*", "It publishes.", {}},
                         {Effect::allow, Subject::host, "*.example.com", "", {"A", "B"}},
                         {Effect::ask, Subject::host, "db.example.com", "", {}, {5432, 65535}}};
  std::string text;
  json::Writer writer(text);
  append_policy(writer, policy);
  EXPECT_EQ(text, R"([{"effect":"ask","command":"git push*","reason":"It publishes."},)"
                  R"({"effect":"allow","host":"*.example.com","secrets":["A","B"]},)"
                  R"({"effect":"ask","host":"db.example.com","ports":[5432,65535]}])");
  const auto document = json::Document::parse(text);
  ASSERT_TRUE(document);
  EXPECT_EQ(policy_from_json(document.value().root()), policy);
  const auto odd = json::Document::parse(R"([{"effect":"perhaps","tool":"bash"}])");
  ASSERT_TRUE(odd);
  EXPECT_EQ(policy_from_json(odd.value().root()), (Policy{{Effect::deny, Subject::tool, "bash", "", {}}}));
}

// I-17: a secret is shown by its name, never by its value, sealed or not.
TEST(SecretJson, Shows_the_alias_and_its_bindings_only) {
  const SealedSecret secret{
      .alias = "CRM_API_KEY", .hosts = {"crm.example"}, .places = place_header | place_basic, .sealed = "sealed bytes"};
  EXPECT_EQ(to_json(secret),
            R"({"object":"secret","alias":"CRM_API_KEY","scope":"conversation","hosts":["crm.example"],)"
            R"("places":["header","basic"],"created_at":"1970-01-01T00:00:00.000Z",)"
            R"("updated_at":"1970-01-01T00:00:00.000Z"})");
}

TEST(Alias, Begins_with_a_capital_and_has_at_most_64_characters) {
  for (const auto& good :
       std::vector<std::string>{"A", "CRM_API_KEY", "A1", "A_", std::string("A") + std::string(63, 'B')}) {
    EXPECT_TRUE(is_alias(good)) << good;
  }
  for (const auto& bad :
       std::vector<std::string>{"", "a", "1A", "_A", "A-B", "A B", "A\n", "Ä", std::string(65, 'A')}) {
    EXPECT_FALSE(is_alias(bad)) << bad;
  }
}

TEST(AuditDigest, Covers_every_member) {
  const AuditEntry entry{.number = 1, .tenant_id = some_id<TenantId>(), .action = "a", .subject = "s", .actor = "x"};
  std::vector<AuditEntry> others(8, entry);
  others[0].number = 2;
  others[1].tenant_id.reset();
  others[2].action = "b";
  others[3].subject = "t";
  others[4].actor = "y";
  others[5].detail = "{}";
  others[6].at = {1};
  others[7].previous_sha256 = "z";
  for (const auto& other : others) EXPECT_NE(digest_of(other), digest_of(entry));
  EXPECT_EQ(digest_of(entry).size(), 32U);
}

TEST(GateNames, Lead_there_and_back) {
  for (const auto effect : {Effect::allow, Effect::ask, Effect::deny}) EXPECT_EQ(effect_named(name_of(effect)), effect);
  for (const auto scope : {SecretScope::conversation, SecretScope::agent, SecretScope::tenant}) {
    EXPECT_EQ(secret_scope_named(name_of(scope)), scope);
  }
  EXPECT_EQ(subject_named("host"), Subject::host);
  EXPECT_EQ(approval_status_named("expired"), ApprovalStatus::expired);
  EXPECT_EQ(placement_mode_named("sticky"), PlacementMode::sticky);
  EXPECT_EQ(secret_place_named("basic"), place_basic);
  EXPECT_FALSE(secret_place_named("path"));
}

}  // namespace gates_test
}  // namespace sluice::model
