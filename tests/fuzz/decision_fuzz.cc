// A signed decision on an approval, as a caller brings it: read or refused in words; and only what a key of the tenant
// signed, as it stands, is proven. Whatever is read is also signed as it should be, so that what comes after the
// signature is reached, too.
#include <map>

#include "api/inputs/decisions.h"
#include "base/bytes.h"
#include "base/check.h"
#include "tests/fuzz/pieces.h"

using namespace sluice;
using namespace sluice::api;
using model::SignatureAlgorithm;

namespace {

constexpr int64_t now_seconds = 1'782'813'420;
constexpr std::string_view hmac_secret = "an approver's secret of some length";
// RFC 8032, 7.1, test 1.
constexpr std::string_view ed25519_private = "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A";
constexpr std::string_view ed25519_public = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";

struct Approver {
  model::ApproverKey key;
  std::string signing;  // what signs: the secret, or the private key
};

Approver approver_with(SignatureAlgorithm algorithm) {
  const bool is_hmac = algorithm == SignatureAlgorithm::hmac_sha256;
  Approver out{.signing = is_hmac ? std::string(hmac_secret) : *from_base64url(ed25519_private)};
  out.key.id.ulid.bytes[15] = is_hmac ? 1 : 2;
  out.key.algorithm = algorithm;
  out.key.material = is_hmac ? std::string(hmac_secret) : *from_base64url(ed25519_public);
  return out;
}

struct Given {
  gates::Signature signature;
  std::map<std::string, std::string> secrets;
};

// Empty when it is refused.
std::optional<Given> read(std::string_view text) {
  static constexpr std::string_view names[] = {"signature", "secrets", "note"};
  const auto document = json::Document::parse(text);
  if (!document || document.value().root().kind() != json::Kind::object) return std::nullopt;
  Findings findings;
  const Fields fields(document.value().root(), "", names, findings);
  Given out{.signature = read_signature(fields)};
  read_note(fields);
  for (auto& secret : read_secrets(fields)) out.secrets.emplace(secret.alias, secret.value);
  for (const auto& error : findings.errors) SLUICE_CHECK(is_utf8(error.message) && is_utf8(error.pointer));
  if (!findings.errors.empty()) return std::nullopt;
  return out;
}

class Judge final {
 public:
  Judge(const Approver& approver, const Given& given) : approver_(approver), given_(given) {
    approval_.id.ulid.bytes[15] = 1;
    approval_.requested_items = {{model::ItemKind::secret, "A key", "CRM_API_KEY", {"crm.example.com"}}};
  }

  void judge(bool approve, bool require_digests) const {
    const gates::DecisionRules rules{.require_digests = require_digests};
    const auto right = sign(approve, given_.signature);
    const bool is_genuine = given_.signature.key_id == approver_.key.id.text() &&
                            given_.signature.algorithm == model::name_of(approver_.key.algorithm) &&
                            given_.signature.value == right;
    SLUICE_CHECK(is_proven(approve, given_.signature, rules, right) == (is_genuine && is_acceptable(require_digests)));

    auto resigned = given_.signature;
    resigned.key_id = approver_.key.id.text();
    resigned.algorithm = model::name_of(approver_.key.algorithm);
    resigned.value = right;
    SLUICE_CHECK(is_proven(approve, resigned, rules, "") == is_acceptable(require_digests));
    SLUICE_CHECK(!is_proven(!approve, resigned, rules, ""));
  }

 private:
  std::string sign(bool approve, const gates::Signature& signature) const {
    const auto payload = gates::payload_of(approval_.id, approve, signature);
    // What is signed has one reading: nothing in a digest becomes a member of its own.
    const auto document = json::Document::parse(payload);
    SLUICE_CHECK(document);
    for (const auto& [name, digest] :
         {std::pair("items_digest", signature.items_digest), std::pair("secrets_digest", signature.secrets_digest)}) {
      const auto member = document.value().root().find(name);
      SLUICE_CHECK(member.has_value() == digest.has_value() && (!digest || member->string() == *digest));
    }
    return gates::sign(payload, approver_.key.algorithm, approver_.signing).take();
  }

  bool is_acceptable(bool require_digests) const {
    const auto& signature = given_.signature;
    if (signature.exp <= now_seconds || signature.exp > now_seconds + gates::DecisionRules().horizon_seconds)
      return false;
    const auto fits = [&](const std::optional<std::string>& digest, const std::string& expected) {
      return digest ? *digest == expected : !require_digests;
    };
    return fits(signature.items_digest, gates::items_digest(approval_.requested_items)) &&
           fits(signature.secrets_digest, gates::secrets_digest(given_.secrets));
  }

  // What is refused is told without the key and without `right`, which would have been accepted.
  bool is_proven(bool approve, const gates::Signature& signature, const gates::DecisionRules& rules,
                 std::string_view right) const {
    const auto proven = gates::check_decision({approval_, approve, signature, given_.secrets}, approver_.key, rules,
                                              Timestamp{now_seconds * 1000 + 999});
    if (proven) return true;
    SLUICE_CHECK(proven.error().kind == ErrorKind::denied && is_utf8(proven.error().what));
    SLUICE_CHECK(proven.error().what.find(approver_.signing) == std::string::npos);
    SLUICE_CHECK(right.empty() || proven.error().what.find(right) == std::string::npos);
    return false;
  }

  const Approver& approver_;
  const Given& given_;
  model::Approval approval_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const auto given = read(fuzz::text_of(data, size));
  if (!given) return 0;
  for (const auto algorithm : {SignatureAlgorithm::hmac_sha256, SignatureAlgorithm::ed25519}) {
    const auto approver = approver_with(algorithm);
    const Judge judge(approver, *given);
    for (const bool approve : {true, false}) {
      for (const bool require_digests : {true, false}) judge.judge(approve, require_digests);
    }
  }
  return 0;
}
