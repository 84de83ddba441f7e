#include "api/inputs/decisions.h"

#include <algorithm>
#include <limits>
#include <map>

#include "api/request/reading.h"

namespace sluice::api {
namespace {

constexpr std::string_view signature_names[] = {"key_id", "algorithm",    "exp",
                                                "value",  "items_digest", "secrets_digest"};
constexpr TextRule note_rule{.chars_max = 1'000};
// The members of a signature are valid or not, but never too long.
constexpr TextRule any_text{.chars_max = std::numeric_limits<std::size_t>::max()};

void refuse_signature(const RequestPtr& request, std::string_view why) {
  request->problem(model::Slug::approval_signature_invalid, why);
}

// A human's decision (I-15). It counts only when an approver key of the tenant signed it: the service key that carries
// it may belong to a host that must not decide. Kept alive by the answer it waits for.
class Decision final : public std::enable_shared_from_this<Decision> {
 public:
  Decision(const RequestPtr& request, model::Approval approval, DecisionInput input,
           Callback<void(const model::Approval&)> done, Callback<void(const model::Problem&)> refused)
      : request_(request),
        approval_(std::move(approval)),
        input_(std::move(input)),
        done_(std::move(done)),
        refused_(std::move(refused)) {}

  void begin() {
    if (input_.signature) return find_key();
    resolved_by_ = "agui_client";
    complete();
  }

 private:
  void find_key() {
    if (!input_.signature->fault.empty()) return refuse_signature(request_, input_.signature->fault);
    const auto id = model::ApproverKeyId::parse(input_.signature->key_id);
    if (!id) return refuse_signature(request_, "No approver key of this tenant has that key_id.");
    store::approver_key(request_->database(), request_->tenant().id, *id,
                        [self = shared_from_this()](Result<model::ApproverKey> key) {
                          if (key) return self->verify(std::move(key).take());
                          if (key.error().kind != ErrorKind::not_found) return self->request_->fail(key.error());
                          refuse_signature(self->request_, "No approver key of this tenant has that key_id.");
                        });
  }

  void verify(model::ApproverKey key) {
    if (key.revoked_at) return refuse_signature(request_, "This approver key was revoked.");
    if (key.algorithm == model::SignatureAlgorithm::hmac_sha256) {
      auto opened = request_->services().needs.sealer.open(key.tenant_id, vault::context_of(key.id), key.material);
      if (!opened) return refuse_unreadable(key, opened.error());
      key.material = std::move(opened).take();
    }
    std::map<std::string, std::string> values;
    for (const auto& secret : input_.secrets) values.emplace(secret.alias, secret.value);
    const gates::DecisionRules rules{.horizon_seconds = request_->services().options.decision_horizon_seconds,
                                     .require_digests = request_->tenant().require_bound_decisions};
    const auto proven =
        gates::check_decision({approval_, input_.approve, *input_.signature, values}, key, rules, request_->now());
    if (!proven) return refuse_signature(request_, proven.error().what);
    resolved_by_ = "approver_key:" + key.id.text();
    complete();
  }

  void complete() {
    // The engine says why one that is closed is closed.
    if (!input_.approve || approval_.status != model::ApprovalStatus::pending) return decide();
    input_.secrets.empty() ? check_aliases() : check_conversation();
  }

  // Nothing can be supplied to a conversation that is archived: its secrets are destroyed for good.
  void check_conversation() {
    store::conversation(request_->database(), request_->tenant().id, approval_.conversation_id,
                        [self = shared_from_this()](const Result<model::Conversation>& conversation) {
                          if (!conversation) return self->request_->fail(conversation.error());
                          if (conversation.value().status == model::ConversationStatus::active)
                            return self->check_aliases();
                          self->request_->problem(
                              model::Slug::conversation_archived,
                              "The conversation is archived and takes no secrets. The approval is still pending: "
                              "un-archive the conversation, deny, or cancel the run.");
                        });
  }

  // A key from before its secret was sealed, or one whose sealing key the operator took away: it must not count as
  // a key that anybody could have written into the database.
  void refuse_unreadable(const model::ApproverKey& key, const Error& why) {
    request_->services().needs.log.write(
        world::LogLevel::error, "approver key cannot be opened",
        {{"key_id", key.id.text()}, {"why", why.what}, {"request_id", request_->request_id()}});
    refuse_signature(request_, "The server cannot open this approver key's secret. Revoke it and create another one.");
  }

  bool is_supplied(const std::string& alias) const {
    return std::ranges::any_of(input_.secrets, [&](const SecretInput& secret) { return secret.alias == alias; });
  }

  // Requested secrets must be supplied with the decision, or stored already.
  void check_aliases() {
    for (const auto& item : approval_.requested_items) {
      if (item.kind == model::ItemKind::secret && item.alias && !is_supplied(*item.alias))
        missing_.push_back(*item.alias);
    }
    if (missing_.empty()) return decide();
    store::run(request_->database(), request_->tenant().id, approval_.run_id,
               [self = shared_from_this()](const Result<model::Run>& run) {
                 if (!run) return self->request_->fail(run.error());
                 self->look_on_file(run.value().agent_id);
               });
  }

  void look_on_file(model::AgentId agent) {
    store::secrets_in_reach(
        request_->database(),
        {.tenant = request_->tenant().id, .conversation = approval_.conversation_id, .agent = agent},
        [self = shared_from_this()](const Result<std::vector<model::SealedSecret>>& on_file) {
          if (!on_file) return self->request_->fail(on_file.error());
          Findings findings;
          for (const auto& alias : self->missing_) {
            if (std::ranges::find(on_file.value(), alias, &model::SealedSecret::alias) == on_file.value().end()) {
              findings.refuse("/secrets/" + alias, "is asked for and not on file; supply it");
            }
          }
          if (!refused(self->request_, findings)) self->decide();
        });
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
    writer.end_array().key("sent_by").string(request_->actor()).end_object();
    return out;
  }

  void decide() {
    bind_as_asked();
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
    supplied_ = decision.secrets;
    request_->set_run(approval_.run_id);
    request_->engine().decide(std::move(decision), [self = shared_from_this()](const engine::DecideOutcome& outcome) {
      if (const auto* problem = std::get_if<model::Problem>(&outcome)) {
        return self->refused_ ? self->refused_(*problem) : self->request_->problem(*problem);
      }
      self->answer(std::get<model::Approval>(outcome));
    });
  }

  // The engine answers a decision that is repeated as it did the first one, and keeps nothing of it. Secrets other than
  // those that came with the first must not seem to be kept.
  void answer(const model::Approval& approval) {
    if (supplied_.empty()) return done_(approval);
    store::secrets_in_reach(
        request_->database(), {.tenant = request_->tenant().id, .conversation = approval_.conversation_id},
        [self = shared_from_this(), approval](const Result<std::vector<model::SealedSecret>>& on_file) {
          if (!on_file) return self->request_->fail(on_file.error());
          if (self->are_on_file(on_file.value())) return self->done_(approval);
          const model::Problem problem{
              .slug = model::Slug::approval_expired,
              .detail = "The approval was decided already, with other secrets; those of this request were not kept."};
          self->refused_ ? self->refused_(problem) : self->request_->problem(problem);
        });
  }

  bool are_on_file(const std::vector<model::SealedSecret>& on_file) const {
    const auto& sealer = request_->services().needs.sealer;
    const auto value_of = [&](const model::SealedSecret& secret) {
      return sealer.open(secret.tenant_id, vault::context_of(secret), secret.sealed);
    };
    return std::ranges::all_of(supplied_, [&](const model::SealedSecret& secret) {
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
  Callback<void(const model::Approval&)> done_;
  Callback<void(const model::Problem&)> refused_;
  std::string resolved_by_;
  std::vector<std::string> missing_;           // aliases asked for and not supplied
  std::vector<model::SealedSecret> supplied_;  // with the decision
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

void decide_on(const RequestPtr& request, model::Approval approval, DecisionInput input,
               Callback<void(const model::Approval&)> done, Callback<void(const model::Problem&)> refused) {
  std::make_shared<Decision>(request, std::move(approval), std::move(input), std::move(done), std::move(refused))
      ->begin();
}

}  // namespace sluice::api
