#include "api/inputs/decisions.h"

#include <algorithm>
#include <limits>
#include <map>

#include "api/request/reading.h"
#include "api/request/waiting.h"

namespace sluice::api {
namespace {

constexpr std::string_view signature_names[] = {"key_id", "algorithm",    "exp",
                                                "value",  "items_digest", "secrets_digest"};
constexpr TextRule note_rule{.chars_max = 1'000};
// The members of a signature are valid or not, but never too long.
constexpr TextRule any_text{.chars_max = std::numeric_limits<std::size_t>::max()};

// A human's decision (I-15). It counts only when an approver key of the tenant signed it: the service key that carries
// it may belong to a host that must not decide.
class Decision final {
 public:
  Decision(const RequestPtr& request, model::Approval approval, DecisionInput input)
      : request_(request), approval_(std::move(approval)), input_(std::move(input)) {}

  Task<engine::DecideOutcome> run() {
    resolved_by_ = input_.signature ? co_await signer() : "agui_client";
    // For an approval that is no longer pending, the engine says why.
    if (input_.approve && approval_.status == model::ApprovalStatus::pending) co_await check_secrets();
    bind_as_asked();
    auto decision = make_decision();
    const auto supplied = decision.secrets;
    request_->set_run(approval_.run_id);
    auto outcome = co_await answer<engine::DecideOutcome>(
        [&](auto done) { request_->engine().decide(std::move(decision), std::move(done)); });
    if (std::holds_alternative<model::Problem>(outcome) || supplied.empty()) co_return outcome;
    // The engine answers a decision that is repeated as it did the first one, and keeps nothing of it. Secrets other
    // than those that came with the first must not seem to be kept.
    if (are_on_file(supplied, co_await secrets_on_file({}))) co_return outcome;
    co_return model::Problem{
        .slug = model::Slug::approval_expired,
        .detail = "The approval was decided already, with other secrets; those of this request were not kept."};
  }

 private:
  // Verifies the signature. Gives the name of the key for the audit chain.
  Task<std::string> signer() {
    const std::string unknown = "No approver key of this tenant has that key_id.";
    if (!input_.signature->fault.empty()) co_await refuse_signature(input_.signature->fault);
    const auto id = model::ApproverKeyId::parse(input_.signature->key_id);
    if (!id) co_await refuse_signature(unknown);
    auto key = co_await found_if_any<model::ApproverKey>(request_, &store::approver_key, request_->tenant().id, *id);
    if (!key) co_await refuse_signature(unknown);
    if (key->revoked_at) co_await refuse_signature("This approver key was revoked.");
    if (key->algorithm == model::SignatureAlgorithm::hmac_sha256) {
      auto opened = request_->services().needs.sealer.open(key->tenant_id, vault::context_of(key->id), key->material);
      if (!opened) co_await refuse_unreadable(*key, opened.error());
      key->material = std::move(opened).take();
    }
    std::map<std::string, std::string> values;
    for (const auto& secret : input_.secrets) values.emplace(secret.alias, secret.value);
    const gates::DecisionRules rules{.horizon_seconds = request_->services().options.decision_horizon_seconds,
                                     .require_digests = request_->tenant().require_bound_decisions};
    const auto proven =
        gates::check_decision({approval_, input_.approve, *input_.signature, values}, *key, rules, request_->now());
    if (!proven) co_await refuse_signature(proven.error().what);
    co_return "approver_key:" + key->id.text();
  }

  Task<> refuse_signature(std::string why) {
    request_->problem(model::Slug::approval_signature_invalid, why);
    co_await answered();
  }

  // The key is from before its secret was sealed, or the operator removed its sealing key. It must not count, because
  // anybody with access to the database could have written it.
  Task<> refuse_unreadable(const model::ApproverKey& key, const Error& why) {
    request_->services().needs.log.write(
        world::LogLevel::error, "approver key cannot be opened",
        {{"key_id", key.id.text()}, {"why", why.what}, {"request_id", request_->request_id()}});
    co_await refuse_signature("The server cannot open this approver key's secret. Revoke it and create another one.");
  }

  bool is_supplied(const std::string& alias) const {
    return std::ranges::any_of(input_.secrets, [&](const SecretInput& secret) { return secret.alias == alias; });
  }

  Task<> check_secrets() {
    if (!input_.secrets.empty()) {
      // Nothing can be supplied to a conversation that is archived: its secrets are destroyed for good.
      const auto conversation = co_await found<model::Conversation>(request_, &store::conversation,
                                                                    request_->tenant().id, approval_.conversation_id);
      if (conversation.status != model::ConversationStatus::active) {
        request_->problem(model::Slug::conversation_archived,
                          "The conversation is archived and takes no secrets. The approval is still pending: "
                          "un-archive the conversation, deny, or cancel the run.");
        co_await answered();
      }
    }
    // Requested secrets must be supplied with the decision, or stored already.
    std::vector<std::string> missing;
    for (const auto& item : approval_.requested_items) {
      if (item.kind == model::ItemKind::secret && item.alias && !is_supplied(*item.alias)) {
        missing.push_back(*item.alias);
      }
    }
    if (missing.empty()) co_return;
    const auto run = co_await found<model::Run>(request_, &store::run, request_->tenant().id, approval_.run_id);
    const auto on_file = co_await secrets_on_file(run.agent_id);
    Findings findings;
    for (const auto& alias : missing) {
      if (std::ranges::find(on_file, alias, &model::SealedSecret::alias) == on_file.end()) {
        findings.refuse("/secrets/" + alias, "is asked for and not on file; supply it");
      }
    }
    if (refused(request_, findings)) co_await answered();
  }

  Task<std::vector<model::SealedSecret>> secrets_on_file(std::optional<model::AgentId> agent) {
    co_return co_await found<std::vector<model::SealedSecret>>(
        request_, &store::secrets_in_reach,
        store::SecretOwners{
            .tenant = request_->tenant().id, .conversation = approval_.conversation_id, .agent = agent});
  }

  // A secret that is asked for one host goes nowhere else, and stands where the waiting request has it, unless the
  // approver says otherwise.
  void bind_as_asked() {
    for (auto& secret : input_.secrets) {
      const auto item = std::ranges::find_if(approval_.requested_items, [&](const model::RequestedItem& one) {
        return one.kind == model::ItemKind::secret && one.alias == secret.alias;
      });
      if (item == approval_.requested_items.end()) continue;
      if (!secret.hosts) secret.hosts = item->hosts;
      if (!secret.places && item->places != 0) secret.places = item->places;
    }
  }

  std::string audit_detail() const {
    std::string out;
    json::Writer writer(out);
    writer.begin_object();
    if (const auto& signature = input_.signature) {
      writer.key("exp").integer(signature->exp).key("algorithm").string(signature->algorithm);
      writer.key("signature").string(signature->value);
      writer.key("items_digest").string_or_null(signature->items_digest);
      // Not the digest itself: a short secret could be guessed from it.
      writer.key("secrets_bound").boolean(signature->secrets_digest.has_value());
    } else {
      writer.key("signature").null();
    }
    writer.key("aliases").begin_array();
    for (const auto& secret : input_.secrets) writer.string(secret.alias);
    writer.end_array().key("sent_by").string(request_->caller().actor()).end_object();
    return out;
  }

  engine::Decision make_decision() {
    engine::Decision decision{.tenant = request_->tenant().id,
                              .approval = approval_.id,
                              .approve = input_.approve,
                              .resolved_by = resolved_by_,
                              .note = input_.note,
                              .audit_detail = audit_detail(),
                              .answers = std::move(input_.answers)};
    const auto& conversation = approval_.conversation_id;
    decision.secrets = seal(request_, {model::SecretScope::conversation, conversation.ulid, conversation.text()},
                            std::move(input_.secrets));
    return decision;
  }

  bool are_on_file(const std::vector<model::SealedSecret>& supplied,
                   const std::vector<model::SealedSecret>& on_file) const {
    const auto& sealer = request_->services().needs.sealer;
    const auto value_of = [&](const model::SealedSecret& secret) {
      return sealer.open(secret.tenant_id, vault::context_of(secret), secret.sealed);
    };
    return std::ranges::all_of(supplied, [&](const model::SealedSecret& secret) {
      const auto kept = std::ranges::find_if(on_file, [&](const model::SealedSecret& one) {
        return one.alias == secret.alias && one.scope == secret.scope;
      });
      if (kept == on_file.end() || kept->hosts != secret.hosts || kept->places != secret.places) return false;
      const auto sent = value_of(secret);
      const auto known = value_of(*kept);
      return sent && known && sent.value() == known.value();
    });
  }

  RequestPtr request_;
  model::Approval approval_;
  DecisionInput input_;
  std::string resolved_by_;
};

}  // namespace

// A malformed signature is an invalid signature and not an invalid field (I-15): the problem is that of a forged one.
gates::Signature read_signature(const Fields& fields) {
  gates::Signature out;
  Findings findings;
  if (const auto given = fields.judged_in(findings).object("signature", signature_names, Null::refused)) {
    for (const auto* name : {"key_id", "algorithm", "exp", "value"}) given->require(name);
    out.key_id = given->text("key_id", any_text).value_or("");
    out.algorithm = given->text("algorithm", any_text).value_or("");
    constexpr auto any = std::numeric_limits<int64_t>();
    out.exp = given->integer("exp", any.min(), any.max()).value_or(0);
    out.value = given->text("value", any_text).value_or("");
    out.items_digest = given->text("items_digest", any_text);
    out.secrets_digest = given->text("secrets_digest", any_text);
  }
  if (findings.errors.empty()) return out;
  const auto& [pointer, message] = findings.errors.front();
  out.fault = "The assertion is malformed: " + pointer + " " + message + ".";
  return out;
}

std::optional<std::string> read_note(const Fields& fields) { return fields.text("note", note_rule); }

Task<engine::DecideOutcome> decide_on(const RequestPtr& request, model::Approval approval, DecisionInput input) {
  Decision decision(request, std::move(approval), std::move(input));
  co_return co_await decision.run();
}

}  // namespace sluice::api
