// What the records beside the journals must be in the end: the audit chain, the notices, and the secrets.
#include <algorithm>
#include <set>

#include "base/json.h"
#include "gates/gates.h"
#include "tests/sim/checks.h"

namespace sluice::sim {
namespace {

constexpr int rows_max = 100'000;

// The actions that the audit chain must have for an approval that is over.
bool is_end_of(const model::Approval& approval, std::string_view action) {
  if (approval.resolved_by == "cancel") return action == "approval.cancelled";
  if (approval.resolved_by == "failure") return action == "approval.failed";
  return action == "approval." + std::string(model::name_of(approval.status));
}

}  // namespace

// The chain is whole, and has each approval twice: when it was raised, and how it ended.
void Checks::check_audit() {
  const auto entries = have<std::vector<model::AuditEntry>>(
      [&](auto done) { store::audit(store_.database(), std::nullopt, 0, rows_max, std::move(done)); });
  if (const auto broken = gates::first_broken_link(entries, "")) {
    needs_.verdict.wrong("audit", "the chain is broken at number " + std::to_string(*broken));
  }
  std::map<std::string, std::vector<std::string>> actions;
  for (const auto& entry : entries) actions[entry.subject].push_back(entry.action);
  for (const auto& [id, approval] : approvals_) {
    const auto& seen = actions[id.text()];
    const bool is_whole = seen.size() == 2 && seen[0] == "approval.required" && is_end_of(approval, seen[1]);
    if (!is_whole) {
      std::string words = id.text() + " is " + std::string(model::name_of(approval.status)) + ", and the audit has";
      for (const auto& action : seen) words += " " + action;
      needs_.verdict.wrong("audit", words);
    }
    actions.erase(id.text());
  }
  for (const auto& [subject, seen] : actions) needs_.verdict.wrong("audit", "has entries of " + subject);
  needs_.verdict.count("audit entries", static_cast<int64_t>(entries.size()));
}

// The outbox has a notice for each entry: nothing delivers them here, so none may be missing and none may be there
// twice.
void Checks::check_notices() {
  constexpr int64_t ages = 1LL << 50;
  std::map<std::string, int> counts;
  while (true) {
    const auto due = have<std::vector<store::DueNotice>>(
        [&](auto done) { store::due_notices(store_.database(), {ages}, rows_max, std::move(done)); });
    if (due.empty()) break;
    for (const auto& one : due) {
      const auto document = json::Document::parse(one.notice.body);
      const auto approval = document ? document.value().root().find("data") : std::nullopt;
      const auto id = approval ? approval->find("id") : std::nullopt;
      ++counts[std::string(id ? id->string().value_or("") : "")];
      static_cast<void>(
          have<Unit>([&](auto done) { store::notice_taken(store_.database(), one.notice.id, std::move(done)); }));
    }
    needs_.verdict.count("notices", static_cast<int64_t>(due.size()));
  }
  for (const auto& [id, approval] : approvals_) {
    if (const auto count = counts[id.text()]; count != 2) {
      needs_.verdict.wrong("notices", id.text() + " has " + std::to_string(count) + " notices instead of 2");
    }
  }
}

// A secret that came with a message is kept if the message was accepted, and only then: each run gets the one of the
// last accepted message of its conversation, whichever servers refused others meanwhile. An archived conversation has
// no secrets any more.
void Checks::check_secrets() {
  std::map<std::string, const Sending*> sendings;
  for (const auto& sending : needs_.clients.testimony().sendings) sendings[sending->content] = sending.get();
  std::set<model::ConversationId> archived;
  for (const auto& archiving : needs_.clients.testimony().archivings) archived.insert(archiving->conversation);
  std::map<model::ConversationId, std::pair<const Told*, std::string>> last;
  for (const auto& id : needs_.accepted) {
    const auto found = told_.find(id);
    if (found == told_.end()) continue;
    const auto& told = found->second;
    auto& [latest, value] = last[told.run.conversation_id];
    latest = &told;
    const auto sending = sendings.find(told.user_message.content);
    if (sending != sendings.end() && !sending->second->secret.empty()) value = sending->second->secret;
    const auto given = needs_.fleet.secrets_given().find(id);
    if (given == needs_.fleet.secrets_given().end()) continue;
    for (const auto& one : given->second) {
      const bool is_gone = one.empty() && archived.contains(told.run.conversation_id);
      if (one != value && !is_gone) wrong("secrets", told, "was given \"" + one + "\" instead of \"" + value + "\"");
    }
    needs_.verdict.count("runs with a secret", value.empty() ? 0 : 1);
  }
  for (const auto& [conversation, kept] : last) {
    if (!archived.contains(conversation)) check_kept_secret(*kept.first, kept.second);
  }
}

void Checks::check_kept_secret(const Told& told, const std::string& value) {
  const auto stored = have<std::vector<model::SealedSecret>>([&](auto done) {
    store::secrets_of(store_.database(), told.run.tenant_id, model::SecretScope::conversation,
                      told.run.conversation_id.ulid, std::move(done));
  });
  std::string found;
  for (const auto& secret : stored) {
    const auto opened = needs_.sealer.open(secret.tenant_id, vault::context_of(secret), secret.sealed);
    found += opened ? opened.value() : "a secret that cannot be opened";
  }
  if (found != value) wrong("secrets", told, "left \"" + found + "\" in its conversation instead of \"" + value + "\"");
}

}  // namespace sluice::sim
