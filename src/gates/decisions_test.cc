// Signed decisions (I-15, I-16): what proves one, and every way in which it does not.
#include <gtest/gtest.h>

#include "base/bytes.h"
#include "base/digest.h"
#include "gates/gates.h"

namespace sluice::gates {
namespace decisions_test {

using model::SignatureAlgorithm;

constexpr int64_t now_seconds = 1'782'813'420;

std::string unhex(std::string_view hex) {
  std::string out;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    out += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  }
  return out;
}

// RFC 8032, 7.1, test 1.
const std::string ed25519_private = unhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60");
const std::string ed25519_public = unhex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a");
const std::string hmac_secret = "an approver's secret of some length";

template <typename AnyId>
AnyId id(uint8_t number) {
  AnyId made;
  made.ulid.bytes[15] = number;
  return made;
}

// An approval, its tenant's key, and a decision that is signed as it should be. Each test spoils one thing.
class Decision : public testing::TestWithParam<SignatureAlgorithm> {
 protected:
  Decision() {
    approval.id = id<model::ApprovalId>(1);
    approval.tenant_id = id<model::TenantId>(1);
    approval.requested_items = {{model::ItemKind::secret, "API key for the CRM", "CRM_API_KEY", {"crm.example.com"}}};
    key.id = id<model::ApproverKeyId>(1);
    key.tenant_id = approval.tenant_id;
    key.algorithm = GetParam();
    key.material = is_hmac() ? hmac_secret : ed25519_public;
    signature.key_id = key.id.text();
    signature.algorithm = name_of(GetParam());
    signature.exp = now_seconds + 300;
    sign_it();
  }

  bool is_hmac() const { return GetParam() == SignatureAlgorithm::hmac_sha256; }
  const std::string& material() const { return is_hmac() ? hmac_secret : ed25519_private; }
  void sign_it() { signature.value = sign(payload_of(approval.id, approve, signature), GetParam(), material()).take(); }

  Result<Unit> check() const {
    return check_decision({approval, approve, signature, secrets}, key, rules, {now_seconds * 1000 + 999});
  }

  // Refused as `denied`, in words, and without a byte of the key or of what would have been right.
  void expect_denied(std::string_view words) const {
    const auto checked = check();
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().kind, ErrorKind::denied);
    EXPECT_NE(checked.error().what.find(words), std::string::npos) << checked.error().what;
    const auto right = sign(payload_of(approval.id, approve, signature), GetParam(), material()).take();
    EXPECT_EQ(checked.error().what.find(right), std::string::npos);
    EXPECT_EQ(checked.error().what.find(key.material), std::string::npos);
  }

  model::Approval approval;
  model::ApproverKey key;
  Signature signature;
  std::map<std::string, std::string> secrets;
  DecisionRules rules;
  bool approve = true;
};

INSTANTIATE_TEST_SUITE_P(Keys, Decision, testing::Values(SignatureAlgorithm::hmac_sha256, SignatureAlgorithm::ed25519),
                         [](const auto& made) { return std::string(made.index == 0 ? "hmac_sha256" : "ed25519"); });

TEST_P(Decision, I_15_Is_proven_by_its_signature) {
  EXPECT_TRUE(check());
  approve = false;
  sign_it();
  EXPECT_TRUE(check());
}

TEST_P(Decision, I_15_Every_flipped_bit_of_the_signature_is_noticed) {
  const auto good = *from_base64url(signature.value);
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    auto forged = good;
    forged[bit / 8] = static_cast<char>(forged[bit / 8] ^ (1 << bit % 8));
    signature.value = to_base64url(forged);
    expect_denied("not this key's signature");
  }
}

TEST_P(Decision, Of_the_other_kind_is_not_proven) {
  approve = false;
  expect_denied("not this key's signature");
}

TEST_P(Decision, On_another_approval_is_not_proven_by_a_replay) {
  approval.id = id<model::ApprovalId>(2);
  expect_denied("not this key's signature");
}

TEST_P(Decision, With_another_exp_is_not_proven) {
  signature.exp += 1;
  expect_denied("not this key's signature");
}

TEST_P(Decision, By_another_key_of_the_tenant_is_not_proven) {
  auto other = material();
  other[0] = static_cast<char>(other[0] ^ 1);
  signature.value = sign(payload_of(approval.id, approve, signature), GetParam(), other).take();
  expect_denied("not this key's signature");
}

TEST_P(Decision, By_a_key_of_another_tenant_is_refused_and_the_key_is_not_admitted_to_exist) {
  key.tenant_id = id<model::TenantId>(2);
  expect_denied("no approver key of this tenant");
}

TEST_P(Decision, That_names_another_key_is_refused) {
  signature.key_id = id<model::ApproverKeyId>(2).text();
  expect_denied("no approver key of this tenant");
}

TEST_P(Decision, By_a_revoked_key_is_refused) {
  key.revoked_at = Timestamp{1};
  expect_denied("was revoked");
}

TEST_P(Decision, With_another_algorithm_than_the_keys_is_refused) {
  for (const std::string_view other :
       {is_hmac() ? "ed25519" : "hmac-sha256", "none", "", "HMAC-SHA256", "hmac-sha512", "Ed25519"}) {
    signature.algorithm = other;
    expect_denied("signature.algorithm");
  }
}

class PublicKeyDecision : public Decision {};
INSTANTIATE_TEST_SUITE_P(Keys, PublicKeyDecision, testing::Values(SignatureAlgorithm::ed25519));

// The attack on a verifier that lets the signature choose its algorithm: the public key is public.
TEST_P(PublicKeyDecision, Signed_with_the_public_key_as_if_it_were_a_secret_is_refused) {
  const auto mac = sign(payload_of(approval.id, approve, signature), SignatureAlgorithm::hmac_sha256, key.material);
  signature.value = mac.value();
  expect_denied("wrong length");
  signature.algorithm = "hmac-sha256";
  expect_denied("signature.algorithm");
}

TEST_P(Decision, I_15_In_anything_but_strict_base64url_is_refused) {
  const auto good = signature.value;
  for (const auto& bad : {good + "=", good + "==", good + "\n", " " + good, good.substr(1), good + "A",
                          std::string("+/"), std::string("!"), good.substr(0, good.size() - 1) + "*"}) {
    signature.value = bad;
    expect_denied("signature.value");
  }
}

TEST_P(Decision, Of_the_wrong_length_is_refused) {
  const auto good = *from_base64url(signature.value);
  for (const auto& bad : {std::string(), good.substr(1), good + '\0', good + good, good.substr(0, 16)}) {
    signature.value = to_base64url(bad);
    expect_denied("wrong length");
  }
}

TEST_P(Decision, I_16_Is_taken_only_before_it_expires) {
  for (const int64_t past : {now_seconds, now_seconds - 1, int64_t{0}, int64_t{-1}, INT64_MIN}) {
    signature.exp = past;
    sign_it();
    expect_denied("past");
  }
  signature.exp = now_seconds + 1;
  sign_it();
  EXPECT_TRUE(check());
}

TEST_P(Decision, Dated_beyond_the_horizon_is_refused) {
  signature.exp = now_seconds + rules.horizon_seconds;
  sign_it();
  EXPECT_TRUE(check());
  for (const int64_t far : {now_seconds + rules.horizon_seconds + 1, now_seconds * 1000, INT64_MAX}) {
    signature.exp = far;
    sign_it();
    expect_denied("too far ahead; at most 900 seconds");
  }
}

TEST_P(Decision, Is_bound_to_the_items_and_secrets_whose_digests_it_signs) {
  secrets = {{"CRM_API_KEY", "hunter2!"}};
  signature.items_digest = items_digest(approval.requested_items);
  signature.secrets_digest = secrets_digest(secrets);
  sign_it();
  EXPECT_TRUE(check());

  secrets["CRM_API_KEY"] = "swapped!";
  expect_denied("secrets_digest");
  secrets = {};
  expect_denied("secrets_digest");
  secrets = {{"CRM_API_KEY", "hunter2!"}};
  approval.requested_items[0].hosts = {"evil.example.org"};
  expect_denied("items_digest");
}

TEST_P(Decision, Cannot_shed_or_gain_a_digest_after_it_was_signed) {
  signature.items_digest = items_digest(approval.requested_items);
  expect_denied("not this key's signature");
  sign_it();
  signature.items_digest.reset();
  expect_denied("not this key's signature");
}

TEST_P(Decision, Needs_both_digests_where_they_are_required) {
  rules.require_digests = true;
  expect_denied("items_digest is required");
  signature.items_digest = items_digest(approval.requested_items);
  sign_it();
  expect_denied("secrets_digest is required");
  signature.secrets_digest = secrets_digest({});
  sign_it();
  EXPECT_TRUE(check());
}

TEST_P(Decision, With_key_material_that_is_none_is_refused) {
  key.material.clear();
  const auto checked = check();
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().kind, ErrorKind::denied);
}

// With an empty secret anyone could sign.
TEST(Signing, Needs_a_whole_key) {
  EXPECT_FALSE(sign("x", SignatureAlgorithm::hmac_sha256, ""));
  EXPECT_FALSE(sign("x", SignatureAlgorithm::ed25519, ""));
  EXPECT_FALSE(sign("x", SignatureAlgorithm::ed25519, std::string(64, 'k')));
}

TEST(Signing, Gives_what_RFC_4231_gives) {
  EXPECT_EQ(sign("Hi There", SignatureAlgorithm::hmac_sha256, std::string(20, '\x0b')).take(),
            to_base64url(unhex("b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7")));
  EXPECT_EQ(sign("what do ya want for nothing?", SignatureAlgorithm::hmac_sha256, "Jefe").take(),
            to_base64url(unhex("5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")));
  EXPECT_EQ(sign("Test Using Larger Than Block-Size Key - Hash Key First", SignatureAlgorithm::hmac_sha256,
                 std::string(131, '\xaa'))
                .take(),
            to_base64url(unhex("60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54")));
}

TEST(Signing, Gives_what_RFC_8032_gives) {
  EXPECT_EQ(
      sign("", SignatureAlgorithm::ed25519, ed25519_private).take(),
      to_base64url(unhex("e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf"
                         "9b46bd25bf5f0595bbe24655141438e7a100b")));
  EXPECT_EQ(
      sign("\x72", SignatureAlgorithm::ed25519,
           unhex("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb"))
          .take(),
      to_base64url(unhex("92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f"
                         "11d8c387b2eaeb4302aeeb00d291612bb0c00")));
}

TEST(Payloads, I_15_Are_canonical_to_the_byte) {
  const auto approval = *model::ApprovalId::parse("apr_01hzx8appr00000000000000a1");
  Signature signature;
  signature.exp = 1782813720;
  EXPECT_EQ(payload_of(approval, true, signature),
            R"({"approval_id":"apr_01hzx8appr00000000000000a1","decision":"approve","exp":1782813720})");
  signature.items_digest = "I";
  signature.secrets_digest = "S";
  EXPECT_EQ(
      payload_of(approval, false, signature),
      R"({"approval_id":"apr_01hzx8appr00000000000000a1","decision":"deny","exp":1782813720,"items_digest":"I","secrets_digest":"S"})");
}

TEST(Digests, Are_of_canonical_json) {
  const auto digest = [](std::string_view json) { return to_base64url(sha256(json)); };
  EXPECT_EQ(items_digest({}), digest("[]"));
  EXPECT_EQ(items_digest({{model::ItemKind::action, "Delete \"prod\"\n\b\f\x01é", std::nullopt, {}},
                          {model::ItemKind::secret, "Key", "CRM_KEY", {"a.example", "b.example"}}}),
            digest(R"([{"description":"Delete \"prod\"\n\b\f\u0001é","kind":"action"},)"
                   R"({"alias":"CRM_KEY","description":"Key","hosts":["a.example","b.example"],"kind":"secret"}])"));
  // A rule's gate shows the call it is about: who binds a decision binds it to that very call.
  EXPECT_EQ(
      items_digest(
          {{model::ItemKind::action, "Run: ls", std::nullopt, {}, 0, model::ClientCall{"s1", "bash", R"({"c":1})"}}}),
      digest(
          R"([{"call":{"arguments":"{\"c\":1}","id":"s1","name":"bash"},"description":"Run: ls","kind":"action"}])"));
  EXPECT_EQ(secrets_digest({}), digest("{}"));
  EXPECT_EQ(secrets_digest({{"B", "2"}, {"A", "1\\"}}), digest(R"({"A":"1\\","B":"2"})"));
}

}  // namespace decisions_test
}  // namespace sluice::gates
