// What stories about gates are told with: runs that park, decisions, secrets and entries.
#pragma once

#include "store/store_contract.h"

namespace sluice::store {

class GateContract : public StoreContract {
 public:
  const model::TenantId tenant = make_tenant();
  const model::ConversationId conversation = make_conversation(tenant).id;

  model::Approval an_approval(const Accepted& begun) {
    return {.id = make_id<model::ApprovalId>(),
            .tenant_id = begun.run.tenant_id,
            .conversation_id = begun.run.conversation_id,
            .message_id = begun.run.message_id,
            .run_id = begun.run.id,
            .reason = "to \"deploy\" ✓",
            .requested_items = {{model::ItemKind::action, "run deploy", std::nullopt, {}},
                                {model::ItemKind::secret, "the token", "DEPLOY_TOKEN", {"api.example.com"}}},
            .expires_at = {90'000},
            .created_at = {7000},
            .updated_at = {7000}};
  }
  static model::Message message_of(const Accepted& begun, model::MessageStatus status) {
    return {.id = begun.run.message_id,
            .conversation_id = begun.run.conversation_id,
            .role = model::Role::assistant,
            .content = "I need a hand.",
            .status = status,
            .created_at = begun.run.created_at};
  }
  model::AuditEntry an_entry(std::string action, std::string subject) const {
    return {.tenant_id = tenant,
            .action = std::move(action),
            .subject = std::move(subject),
            .actor = "server",
            .detail = "{}",
            .at = {7000}};
  }
  model::Notice a_notice(std::string kind, Timestamp at = {7000}) {
    return {make_id<model::NoticeId>(), tenant, std::move(kind), R"({"n":1})", at};
  }
  // The append by which the run waits for `approval`.
  Append the_park(const Accepted& begun, const model::Approval& approval) {
    return {.run = begun.run.id,
            .epoch = begun.run.epoch,
            .head = begun.run.head,
            .events = {{model::EventKind::checkpoint, {7000}, "{}"},
                       {model::EventKind::gate, {7000}, model::to_json(approval)}},
            .commit_class = CommitClass::boundary,
            .state = model::RunState::parked,
            .assistant_message = message_of(begun, model::MessageStatus::awaiting_approval),
            .approval = approval,
            .audit = {an_entry("approval.required", approval.id.text())},
            .notices = {a_notice("approval.required")}};
  }
  // The append by which it goes on.
  Append the_decision(const Accepted& begun, model::Approval approval) {
    approval.status = model::ApprovalStatus::approved;
    approval.note = "go";
    approval.resolved_by = "approver_key:apk_1";
    approval.resolved_at = Timestamp{8000};
    approval.updated_at = {8000};
    return {.run = begun.run.id,
            .epoch = begun.run.epoch,
            .head = {begun.run.head.value + 2},
            .events = {{model::EventKind::resumed, {8000}, "{}"}},
            .commit_class = CommitClass::boundary,
            .state = model::RunState::streaming,
            .assistant_message = message_of(begun, model::MessageStatus::in_progress),
            .approval = approval,
            .secrets = {a_secret("DEPLOY_TOKEN", "sealed")},
            .audit = {an_entry("approval.approved", approval.id.text())},
            .notices = {a_notice("approval.resolved", {8000})}};
  }
  model::SealedSecret a_secret(std::string alias, std::string sealed, Timestamp at = {8000}) const {
    return secret_of(model::SecretScope::conversation, conversation.ulid, std::move(alias), std::move(sealed), at);
  }
  model::SealedSecret secret_of(model::SecretScope scope, Ulid owner, std::string alias, std::string sealed,
                                Timestamp at = {8000}) const {
    return {.tenant_id = tenant,
            .scope = scope,
            .owner = owner,
            .alias = std::move(alias),
            .hosts = {"api.example.com"},
            .places = model::place_header,
            .sealed = std::move(sealed),
            .created_at = at,
            .updated_at = at};
  }
  std::vector<model::SealedSecret> kept_secrets() {
    return get(&store::secrets_of, tenant, model::SecretScope::conversation, conversation.ulid);
  }
  void put(std::vector<model::SealedSecret> secrets) {
    get(&store::put_secrets, std::move(secrets), std::vector<model::AuditEntry>{});
  }
  std::vector<model::AuditEntry> chain() { return get(&store::audit, std::nullopt, int64_t{0}, 1'000); }
  std::vector<DueNotice> due(Timestamp now) { return get(&store::due_notices, now, 100); }
  void set_webhook(std::optional<std::string> url) {
    TenantPatch patch;
    patch.webhook_url = std::move(url);
    get(&store::update_tenant, tenant, patch, Timestamp{1});
  }
};

}  // namespace sluice::store
