// The contract of every store, about secrets, policies, placement and limits.
#include "store/gates_fixture.h"

namespace sluice::store {
namespace secrets_contract_test {

using model::SecretScope;
using Secrets = std::vector<model::SealedSecret>;
using Entries = std::vector<model::AuditEntry>;

class SecretContract : public GateContract {
 public:
  void set_status(model::ConversationStatus status) {
    ConversationPatch patch;
    patch.status = status;
    get(&store::update_conversation, tenant, conversation, patch, Timestamp{9000});
  }
  static std::vector<std::string> seals_of(const Secrets& secrets) {
    std::vector<std::string> seals;
    for (const auto& secret : secrets) seals.push_back(secret.sealed);
    return seals;
  }
};

INSTANTIATE_TEST_SUITE_P(Stores, SecretContract, every_backend, name_of_backend);

// I-17
TEST_P(SecretContract, Secrets_merge_alias_by_alias_and_remember_when_they_were_made) {
  get(&store::put_secrets, Secrets{a_secret("B", "b1", {1000}), a_secret("A", std::string("a\0\xff", 3), {1000})},
      Entries{an_entry("secret.put", "A"), an_entry("secret.put", "B")});
  auto changed = a_secret("A", "a2", {2000});
  changed.hosts = {"*.example.com", "other.test"};
  changed.places = model::place_query | model::place_basic;
  put({changed, a_secret("C", "c1", {2000})});
  restart();
  const auto kept = kept_secrets();
  EXPECT_EQ(seals_of(kept), (std::vector<std::string>{"a2", "b1", "c1"}));
  EXPECT_EQ(kept[0].created_at.ms, 1000);
  EXPECT_EQ(kept[0].updated_at.ms, 2000);
  EXPECT_EQ(kept[0].hosts, changed.hosts);
  EXPECT_EQ(kept[0].places, changed.places);
  EXPECT_EQ(kept[0].owner, conversation.ulid);
  EXPECT_EQ(kept[0].tenant_id, tenant);
  EXPECT_EQ(kept[1].updated_at.ms, 1000);
  EXPECT_EQ(chain().size(), 2U);
}

TEST_P(SecretContract, An_owner_has_a_bounded_number_of_secrets) {
  Secrets many;
  for (int64_t i = 0; i < secrets_per_owner_max; ++i) many.push_back(a_secret("A" + std::to_string(i), "a"));
  auto one_too_many = many;
  one_too_many.push_back(a_secret("MORE", "a"));
  EXPECT_EQ(refused(&store::put_secrets, one_too_many, Entries{an_entry("secret.put", "A")}), ErrorKind::invalid);
  EXPECT_EQ(kept_secrets().size(), 0U);
  put(many);
  EXPECT_EQ(refused(&store::put_secrets, Secrets{a_secret("MORE", "a")}, Entries{an_entry("secret.put", "A")}),
            ErrorKind::invalid);
  auto with_a_message = a_run(tenant, conversation);
  with_a_message.secrets = {a_secret("MORE", "a")};
  EXPECT_EQ(refused(&journal::Journal::accept, with_a_message), ErrorKind::invalid);
  EXPECT_EQ(chain().size(), 0U);
  put({a_secret("A7", "changed")});
  auto elsewhere = a_secret("MORE", "a");
  elsewhere.scope = SecretScope::tenant;
  elsewhere.owner = tenant.ulid;
  put({elsewhere});
  EXPECT_EQ(kept_secrets().size(), static_cast<std::size_t>(secrets_per_owner_max));
}

// I-4, I-19
TEST_P(SecretContract, Secrets_that_come_with_a_message_are_kept_with_it_and_not_when_it_is_refused) {
  put({a_secret("A", "old")});
  const auto with_secrets = [&](model::ConversationId where, Idempotency key) {
    auto made = a_run(tenant, where);
    made.idempotency = std::move(key);
    made.secrets = {a_secret("A", "new"), a_secret("B", "b")};
    made.audit = {an_entry("secret.put", "A B")};
    return made;
  };
  const Idempotency key{make_id<model::ServiceKeyId>(), "createMessage", "k", "sha"};
  const auto entries = chain().size();
  auto no_room = with_secrets(conversation, key);
  no_room.only_replay = true;
  EXPECT_TRUE(std::holds_alternative<NotCreated>(get(&journal::Journal::accept, no_room)));
  EXPECT_EQ(seals_of(kept_secrets()), std::vector<std::string>{"old"});

  const auto begun = accepted(with_secrets(conversation, key));
  EXPECT_EQ(seals_of(kept_secrets()), (std::vector<std::string>{"new", "b"}));
  EXPECT_EQ(chain().size(), entries + 1);

  put({a_secret("A", "rotated")});
  auto other_body = key;
  other_body.request_sha256 = "another";
  auto other_key = key;
  other_key.key = "k2";
  EXPECT_TRUE(std::holds_alternative<Replay>(get(&journal::Journal::accept, with_secrets(conversation, key))));
  EXPECT_TRUE(
      std::holds_alternative<KeyConflict>(get(&journal::Journal::accept, with_secrets(conversation, other_body))));
  EXPECT_TRUE(std::holds_alternative<Busy>(get(&journal::Journal::accept, with_secrets(conversation, other_key))));
  get(&journal::Journal::append, the_end(begun));
  EXPECT_EQ(refused(&journal::Journal::accept, with_secrets(make_id<model::ConversationId>(), other_key)),
            ErrorKind::not_found);
  set_status(model::ConversationStatus::archived);
  EXPECT_TRUE(std::holds_alternative<Archived>(get(&journal::Journal::accept, with_secrets(conversation, other_key))));
  set_status(model::ConversationStatus::active);
  EXPECT_TRUE(kept_secrets().empty()) << "archiving destroyed them, and nothing brought them back";
}

TEST_P(SecretContract, Bytes_of_a_seal_come_back_as_they_were) {
  const std::string sealed("\0\xff'\"\n\0", 6);
  put({a_secret("A", sealed)});
  EXPECT_EQ(kept_secrets().at(0).sealed, sealed);
}

// I-17: nobody writes to, or reads from, what belongs to another tenant.
TEST_P(SecretContract, Secrets_of_another_tenant_are_not_found) {
  put({a_secret("A", "a")});
  const auto other = make_tenant("other");
  auto foreign = a_secret("A", "stolen");
  foreign.tenant_id = other;
  EXPECT_EQ(refused(&store::put_secrets, Secrets{foreign}, Entries{an_entry("secret.put", "A")}), ErrorKind::not_found);
  foreign.scope = SecretScope::tenant;
  foreign.owner = tenant.ulid;
  EXPECT_EQ(refused(&store::put_secrets, Secrets{foreign}, Entries{}), ErrorKind::not_found);
  foreign.scope = SecretScope::agent;
  foreign.owner = get(&store::default_agent, tenant).id.ulid;
  EXPECT_EQ(refused(&store::put_secrets, Secrets{foreign}, Entries{}), ErrorKind::not_found);
  EXPECT_EQ(refused(&store::secrets_of, other, SecretScope::conversation, conversation.ulid), ErrorKind::not_found);
  EXPECT_EQ(
      refused(&store::delete_secret, other, SecretScope::conversation, conversation.ulid, std::string("A"), Entries{}),
      ErrorKind::not_found);
  EXPECT_TRUE(get(&store::secrets_in_reach, SecretOwners{other, conversation, std::nullopt}).empty());
  EXPECT_EQ(seals_of(kept_secrets()), std::vector<std::string>{"a"});
  EXPECT_TRUE(chain().empty()) << "what was refused proves nothing";
}

TEST_P(SecretContract, One_that_is_refused_refuses_all_that_came_with_it) {
  auto lost = a_secret("B", "b");
  lost.owner = make_id<model::ConversationId>().ulid;
  EXPECT_EQ(refused(&store::put_secrets, Secrets{a_secret("A", "a"), lost}, Entries{}), ErrorKind::not_found);
  EXPECT_TRUE(kept_secrets().empty());
}

TEST_P(SecretContract, A_secret_is_deleted_once) {
  put({a_secret("A", "a"), a_secret("B", "b")});
  const auto remove = [&] {
    return ask(&store::delete_secret, tenant, SecretScope::conversation, conversation.ulid, std::string("A"),
               Entries{an_entry("secret.deleted", "A")});
  };
  EXPECT_TRUE(remove());
  const auto again = remove();
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().kind, ErrorKind::not_found);
  EXPECT_EQ(seals_of(kept_secrets()), std::vector<std::string>{"b"});
  EXPECT_EQ(chain().size(), 1U);
}

TEST_P(SecretContract, What_is_in_reach_comes_narrowest_first) {
  const auto agent = get(&store::default_agent, tenant).id;
  const auto elsewhere = make_conversation(tenant).id;
  put({secret_of(SecretScope::tenant, tenant.ulid, "A", "tenant's"),
       secret_of(SecretScope::agent, agent.ulid, "A", "agent's"), a_secret("B", "conversation's B"),
       a_secret("A", "conversation's A"),
       secret_of(SecretScope::conversation, elsewhere.ulid, "A", "another conversation's")});
  using Seals = std::vector<std::string>;
  const auto reach = [&](SecretOwners owners) { return seals_of(get(&store::secrets_in_reach, owners)); };
  EXPECT_EQ(reach({tenant, conversation, agent}),
            Seals({"conversation's A", "conversation's B", "agent's", "tenant's"}));
  EXPECT_EQ(reach({tenant, std::nullopt, agent}), Seals({"agent's", "tenant's"}));
  EXPECT_EQ(reach({tenant, std::nullopt, std::nullopt}), Seals({"tenant's"}));
}

// I-17: archiving is final for secrets.
TEST_P(SecretContract, Archiving_destroys_the_secrets_of_the_conversation_and_refuses_others) {
  put({a_secret("A", "a"), secret_of(SecretScope::tenant, tenant.ulid, "T", "t")});
  const auto begun = accepted(tenant, conversation);
  const auto asked = an_approval(begun);
  get(&journal::Journal::append, the_park(begun, asked));
  set_status(model::ConversationStatus::archived);
  EXPECT_TRUE(kept_secrets().empty());
  EXPECT_EQ(refused(&store::put_secrets, Secrets{a_secret("A", "a")}, Entries{}), ErrorKind::conflict);
  get(&journal::Journal::append, the_decision(begun, asked));
  EXPECT_EQ(refused(&store::open_approval, begun.run.id), ErrorKind::not_found) << "the decision counts all the same";
  EXPECT_TRUE(kept_secrets().empty());

  set_status(model::ConversationStatus::active);
  restart();
  EXPECT_TRUE(kept_secrets().empty()) << "what is destroyed does not come back";
  EXPECT_EQ(seals_of(get(&store::secrets_in_reach, SecretOwners{tenant, conversation, std::nullopt})),
            std::vector<std::string>{"t"});
}

TEST_P(SecretContract, A_deleted_agent_takes_its_secrets_along) {
  const auto agent = an_agent(tenant, "short-lived");
  get(&store::create_agent, agent);
  put({secret_of(SecretScope::agent, agent.id.ulid, "A", "a")});
  get(&store::delete_agent, tenant, agent.id);
  EXPECT_TRUE(get(&store::secrets_in_reach, SecretOwners{tenant, std::nullopt, agent.id}).empty());
  EXPECT_TRUE(get(&store::sealed_page, int64_t{0}, 10).secrets.empty());
}

// ── a change of the operator's key ──

TEST_P(SecretContract, Everything_sealed_is_walked_page_by_page) {
  std::vector<std::string> expected;
  for (int i = 0; i < 7; ++i) {
    expected.push_back("s" + std::to_string(i));
    put({a_secret("A" + std::to_string(i), expected.back())});
  }
  for (int i = 0; i < 3; ++i) {
    const auto algorithm = i == 1 ? model::SignatureAlgorithm::ed25519 : model::SignatureAlgorithm::hmac_sha256;
    model::ApproverKey key{.id = make_id<model::ApproverKeyId>(), .tenant_id = tenant, .algorithm = algorithm};
    key.material = "k" + std::to_string(i);
    get(&store::create_approver_key, key);
    if (i == 2) get(&store::revoke_approver_key, tenant, key.id, Timestamp{5});
  }
  expected.insert(expected.end(), {"k0", "k2"});  // public keys are not sealed
  std::sort(expected.begin(), expected.end());
  for (const int limit : {1, 2, 3, 7, 100}) {
    std::vector<std::string> walked;
    int64_t after = 0;
    do {
      const auto page = get(&store::sealed_page, after, limit);
      EXPECT_LE(page.secrets.size(), static_cast<std::size_t>(limit));
      EXPECT_TRUE(page.next == 0 || page.next > after);
      for (const auto& secret : page.secrets) walked.push_back(secret.sealed);
      for (const auto& key : page.keys) walked.push_back(key.material);
      after = page.next;
    } while (after != 0);
    std::sort(walked.begin(), walked.end());
    EXPECT_EQ(walked, expected) << "in pages of " << limit;
  }
}

TEST_P(SecretContract, A_seal_is_replaced_only_where_it_is_still_the_old_one) {
  put({a_secret("A", "old", {1000}), a_secret("B", "changed meanwhile", {1000})});
  model::ApproverKey key{.id = make_id<model::ApproverKeyId>(), .tenant_id = tenant, .material = "old key"};
  get(&store::create_approver_key, key);
  auto secret = kept_secrets().at(0);
  secret.sealed = "resealed";
  secret.updated_at = {9999};
  auto other = kept_secrets().at(1);
  other.sealed = "too late";
  key.material = "resealed key";
  const std::vector<Resealed> changes{
      {secret, std::nullopt, "old"}, {other, std::nullopt, "before"}, {std::nullopt, key, "old key"}};
  EXPECT_EQ(get(&store::reseal, changes), 2);
  EXPECT_EQ(get(&store::reseal, changes), 0) << "again";
  EXPECT_EQ(seals_of(kept_secrets()), (std::vector<std::string>{"resealed", "changed meanwhile"}));
  EXPECT_EQ(kept_secrets()[0].updated_at.ms, 1000) << "nothing but the seal";
  EXPECT_EQ(get(&store::approver_key, tenant, key.id).material, "resealed key");
}

// ── policies, placement and limits ──

TEST_P(SecretContract, An_agent_keeps_its_policy_and_the_alias_of_its_key) {
  auto agent = an_agent(tenant, "careful");
  agent.policy = {{model::Effect::ask, model::Subject::command, "rm *", "it \"deletes\"", {}},
                  {model::Effect::allow, model::Subject::host, "*.example.com", "", {"A", "*"}}};
  agent.model.key_alias = "MODEL_KEY";
  get(&store::create_agent, agent);
  restart();
  EXPECT_EQ(get(&store::agent, tenant, agent.id).policy, agent.policy);
  EXPECT_EQ(get(&store::agent, tenant, agent.id).model, agent.model);
  AgentPatch patch;
  patch.policy = model::Policy{{model::Effect::deny, model::Subject::tool, "*", "", {}}};
  patch.model = model::ModelChoice{"offline", "echo", std::nullopt, std::nullopt};
  get(&store::update_agent, tenant, agent.id, patch, Timestamp{5});
  restart();
  EXPECT_EQ(get(&store::agent, tenant, agent.id).policy, *patch.policy);
  EXPECT_EQ(get(&store::agent, tenant, agent.id).model, *patch.model);
}

// I-21
TEST_P(SecretContract, A_conversation_keeps_where_its_runs_are_carried_out) {
  EXPECT_EQ(get(&store::conversation, tenant, conversation).runtime, model::Runtime{"native"});
  auto made = a_conversation(tenant);
  made.runtime = {"codex", model::PlacementMode::sticky, 120};
  get(&journal::Journal::create_conversation, NewConversation{made, "", {}});
  restart();
  EXPECT_EQ(get(&store::conversation, tenant, made.id).runtime, made.runtime);
  ConversationPatch patch;
  patch.runtime = model::Runtime{"codex", model::PlacementMode::pooled, 900};
  get(&store::update_conversation, tenant, made.id, patch, Timestamp{5});
  restart();
  EXPECT_EQ(get(&store::conversation, tenant, made.id).runtime, *patch.runtime);
  EXPECT_EQ(accepted(tenant, made.id).conversation.runtime, *patch.runtime);
}

// I-12
TEST_P(SecretContract, A_tenant_keeps_its_limits_and_how_it_decides) {
  const model::Tenant made{.id = make_id<model::TenantId>(),
                           .name = "large",
                           .limits = {4, 10, 20, 3, 600},
                           .require_bound_decisions = true,
                           .webhook_url = "https://hooks.example.com/a"};
  get(&store::create_tenant, made, an_agent(made.id, "default"));
  restart();
  EXPECT_EQ(model::to_json(get(&store::tenant, made.id)), model::to_json(made));
  EXPECT_EQ(get(&store::tenant, made.id).limits, made.limits);
  TenantPatch patch;
  patch.limits = model::TenantLimits{1, 2, 3, 4, 500};
  patch.require_bound_decisions = false;
  get(&store::update_tenant, made.id, patch, Timestamp{5});
  restart();
  auto kept = get(&store::tenant, made.id);
  EXPECT_EQ(kept.limits, *patch.limits);
  EXPECT_FALSE(kept.require_bound_decisions);
  EXPECT_EQ(kept.webhook_url, made.webhook_url) << "not in the patch";
  patch.webhook_url = std::optional<std::string>();
  get(&store::update_tenant, made.id, patch, Timestamp{6});
  EXPECT_FALSE(get(&store::tenant, made.id).webhook_url);
}

}  // namespace secrets_contract_test
}  // namespace sluice::store
