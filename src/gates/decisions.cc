// Whether a decision was signed by whom it says, and is about this approval.
#include <openssl/evp.h>

#include <memory>

#include "base/bytes.h"
#include "base/check.h"
#include "base/digest.h"
#include "base/json.h"
#include "gates/gates.h"

namespace sluice::gates {
namespace {

using model::SignatureAlgorithm;

constexpr std::size_t ed25519_key_bytes = 32;
constexpr std::size_t ed25519_signature_bytes = 64;
constexpr std::size_t hmac_bytes = 32;

struct KeyDelete {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
struct DigestDelete {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
using Key = std::unique_ptr<EVP_PKEY, KeyDelete>;
using Digest = std::unique_ptr<EVP_MD_CTX, DigestDelete>;

const unsigned char* bytes_of(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

Error denied(std::string what) { return {ErrorKind::denied, std::move(what)}; }

// RFC 8785 has two short escapes that base/json does not write.
void append_canonical(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const auto end = std::min(text.find_first_of("\b\f"), text.size());
    std::string plain;
    json::append_string(plain, text.substr(0, end));
    out.append(plain, 1, plain.size() - 2);
    if (end < text.size()) out += text[end] == '\b' ? "\\b" : "\\f";
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  out += '"';
}

bool ed25519_signed(std::string_view public_key, std::string_view payload, std::string_view signature) {
  if (public_key.size() != ed25519_key_bytes) return false;
  const Key key(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, bytes_of(public_key), public_key.size()));
  const Digest context(EVP_MD_CTX_new());
  return key && EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
         EVP_DigestVerify(context.get(), bytes_of(signature), signature.size(), bytes_of(payload), payload.size()) == 1;
}

Result<Unit> check_key(const DecisionClaim& claim, const model::ApproverKey& key) {
  // Not even the existence of another tenant's key is disclosed.
  if (key.tenant_id != claim.approval.tenant_id || key.id.text() != claim.signature.key_id) {
    return denied("signature.key_id is no approver key of this tenant");
  }
  if (key.revoked_at) return denied("the approver key " + key.id.text() + " was revoked");
  if (claim.signature.algorithm != model::name_of(key.algorithm)) {
    return denied("signature.algorithm is not the algorithm of that key, " +
                  std::string(model::name_of(key.algorithm)));
  }
  return Unit{};
}

Result<Unit> check_exp(int64_t exp, int64_t horizon_seconds, Timestamp now) {
  const int64_t now_seconds = now.ms / 1000;
  if (exp <= now_seconds) return denied("signature.exp is past; sign again with a later one");
  if (exp - now_seconds > horizon_seconds) {
    return denied("signature.exp is too far ahead; at most " + std::to_string(horizon_seconds) +
                  " seconds from now are accepted");
  }
  return Unit{};
}

Result<Unit> check_digest(std::string_view name, const std::optional<std::string>& given, std::string_view expected,
                          bool required) {
  if (!given && required) return denied("signature." + std::string(name) + " is required of this tenant's decisions");
  if (given && !equal_in_constant_time(*given, expected)) {
    return denied("signature." + std::string(name) + " is not the digest of what is decided on");
  }
  return Unit{};
}

}  // namespace

std::string payload_of(model::ApprovalId approval, bool approve, const Signature& signature) {
  std::string out;
  json::Writer writer(out);
  writer.begin_object().key("approval_id").string(approval.text());
  writer.key("decision").string(approve ? "approve" : "deny").key("exp").integer(signature.exp);
  if (signature.items_digest) writer.key("items_digest").string(*signature.items_digest);
  if (signature.secrets_digest) writer.key("secrets_digest").string(*signature.secrets_digest);
  writer.end_object();
  return out;
}

std::string items_digest(const std::vector<model::RequestedItem>& items) {
  std::string out = "[";
  for (const auto& item : items) {
    out += out.size() == 1 ? "{" : ",{";
    if (item.alias) {
      out += R"("alias":)";
      append_canonical(out, *item.alias);
      out += ',';
    }
    if (item.call) {
      out += R"("call":{"arguments":)";
      append_canonical(out, item.call->arguments);
      out += R"(,"id":)";
      append_canonical(out, item.call->id);
      out += R"(,"name":)";
      append_canonical(out, item.call->name);
      out += "},";
    }
    out += R"("description":)";
    append_canonical(out, item.description);
    if (!item.hosts.empty()) {
      out += R"(,"hosts":[)";
      for (const auto& host : item.hosts) {
        if (out.back() != '[') out += ',';
        append_canonical(out, host);
      }
      out += ']';
    }
    out += R"(,"kind":)";
    append_canonical(out, model::name_of(item.kind));
    out += '}';
  }
  return to_base64url(sha256(out + "]"));
}

std::string secrets_digest(const std::map<std::string, std::string>& secrets) {
  std::string out = "{";
  for (const auto& [alias, value] : secrets) {
    if (out.size() > 1) out += ',';
    append_canonical(out, alias);
    out += ':';
    append_canonical(out, value);
  }
  return to_base64url(sha256(out + "}"));
}

Result<Unit> check_decision(const DecisionClaim& claim, const model::ApproverKey& key, const DecisionRules& rules,
                            Timestamp now) {
  const auto& signature = claim.signature;
  if (!signature.fault.empty()) return denied(signature.fault);
  if (auto checked = check_key(claim, key); !checked) return checked;
  if (auto checked = check_exp(signature.exp, rules.horizon_seconds, now); !checked) return checked;
  const bool is_hmac = key.algorithm == SignatureAlgorithm::hmac_sha256;
  const auto value = from_base64url(signature.value);
  if (!value) return denied("signature.value is not base64url without padding");
  if (value->size() != (is_hmac ? hmac_bytes : ed25519_signature_bytes)) {
    return denied("signature.value has the wrong length for " + std::string(model::name_of(key.algorithm)));
  }
  const auto payload = payload_of(claim.approval.id, claim.approve, signature);
  const bool is_signed =
      is_hmac ? !key.material.empty() && equal_in_constant_time(hmac_sha256(key.material, payload), *value)
              : ed25519_signed(key.material, payload, *value);
  if (!is_signed) return denied("signature.value is not this key's signature of this decision on this approval");
  if (auto checked = check_digest("items_digest", signature.items_digest, items_digest(claim.approval.requested_items),
                                  rules.require_digests);
      !checked) {
    return checked;
  }
  return check_digest("secrets_digest", signature.secrets_digest, secrets_digest(claim.secrets), rules.require_digests);
}

Result<std::string> sign(std::string_view payload, SignatureAlgorithm algorithm, std::string_view material) {
  if (algorithm == SignatureAlgorithm::hmac_sha256) {
    if (material.empty()) return Error{ErrorKind::invalid, "the approver key's secret is empty"};
    return to_base64url(hmac_sha256(material, payload));
  }
  if (material.size() != ed25519_key_bytes) {
    return Error{ErrorKind::invalid,
                 "an Ed25519 private key has 32 bytes, and this has " + std::to_string(material.size())};
  }
  const Key key(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, bytes_of(material), material.size()));
  const Digest context(EVP_MD_CTX_new());
  std::string signature(ed25519_signature_bytes, '\0');
  auto size = signature.size();
  SLUICE_CHECK(key && EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1);
  SLUICE_CHECK(EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                              bytes_of(payload), payload.size()) == 1);
  return to_base64url(signature);
}

// ── the chain of audit entries ──

std::optional<int64_t> first_broken_link(const std::vector<model::AuditEntry>& entries,
                                         std::string_view previous_sha256) {
  const model::AuditEntry* before = nullptr;
  for (const auto& entry : entries) {
    const auto previous = before ? std::string_view(before->sha256) : previous_sha256;
    const bool is_next = before ? entry.number == before->number + 1 : (entry.number == 1) == previous.empty();
    if (!is_next || entry.previous_sha256 != previous || entry.sha256 != model::digest_of(entry)) return entry.number;
    before = &entry;
  }
  return std::nullopt;
}

}  // namespace sluice::gates
