// The engine's house with a human in it: gates are raised by the test's agent, and decided by the test.
#pragma once

#include <regex>

#include "engine/engine_fixture.h"

namespace sluice::engine {

inline model::Runtime sticky(int64_t ttl_seconds = 600) {
  model::Runtime runtime;
  runtime.mode = model::PlacementMode::sticky;
  runtime.sticky_ttl_seconds = ttl_seconds;
  return runtime;
}

// Ids aside.
inline std::string without_ids(const std::string& text) {
  return std::regex_replace(text, std::regex("_[0-9a-hjkmnp-tv-z]{26}"), "_");
}

class GateTest : public EngineTest {
 protected:
  dispatch::DispatchListener& agent_at_work() { return *dispatcher.jobs.back()->listener; }
  const dispatch::Dispatch& last_dispatch() const { return dispatcher.jobs.back()->dispatch; }

  // Asks for a key, as the sandbox's placement has it.
  void agent_asks(int64_t lifetime_seconds = 0, std::string checkpoint = R"({"round":1})") {
    dispatch::Gate gate;
    gate.reason = "The CRM needs a key.";
    gate.items = {{model::ItemKind::secret, "API key for the CRM", "CRM_API_KEY", {}}};
    gate.lifetime_seconds = lifetime_seconds;
    gate.checkpoint = std::move(checkpoint);
    gate.keeps_box = last_dispatch().keeps_box;
    agent_at_work().on_gate(std::move(gate));
    loop.settle();
  }
  void agent_begins_step() {
    agent_says(R"({"id":"step_1","name":"bash","status":"running","args":{}})", model::EventKind::step);
  }

  std::vector<model::Approval> approvals() {
    std::vector<model::Approval> rows;
    store::approvals(store->database(), tenant.id, {}, {.limit = 50},
                     [&](const Result<store::Page<model::Approval>>& page) {
                       ASSERT_TRUE(page);
                       rows = page.value().rows;
                     });
    loop.settle();
    return rows;
  }
  model::Approval last_approval() {
    const auto rows = approvals();
    return rows.empty() ? model::Approval{} : rows.front();
  }
  std::vector<std::string> audited() {
    std::vector<std::string> actions;
    store::audit(store->database(), tenant.id, 0, 100, [&](const Result<std::vector<model::AuditEntry>>& entries) {
      ASSERT_TRUE(entries);
      for (const auto& entry : entries.value()) actions.push_back(entry.action + " by " + entry.actor);
    });
    loop.settle();
    return actions;
  }

  Decision decision(bool approve = true) {
    Decision made{.tenant = tenant.id, .approval = last_approval().id, .approve = approve};
    made.resolved_by = "approver_key:apk_1";
    made.audit_detail = "{}";
    return made;
  }
  DecideOutcome decide(Decision made) {
    DecideOutcome outcome = model::Problem{};
    engine->decide(std::move(made), [&](DecideOutcome answer) { outcome = std::move(answer); });
    loop.settle();
    return outcome;
  }
  model::SealedSecret sealed(std::string alias, std::string_view value, model::ConversationId where) {
    model::SealedSecret secret{.tenant_id = tenant.id, .scope = model::SecretScope::conversation, .owner = where.ulid};
    secret.alias = std::move(alias);
    secret.created_at = secret.updated_at = loop.now();
    secret.sealed = sealer.seal(tenant.id, vault::context_of(secret), value);
    return secret;
  }

  static std::string detail_of(const DecideOutcome& outcome) {
    const auto* problem = std::get_if<model::Problem>(&outcome);
    return problem == nullptr ? "" : problem->detail;
  }
  static bool is_refused_as_late(const DecideOutcome& outcome) {
    const auto* problem = std::get_if<model::Problem>(&outcome);
    return problem != nullptr && problem->slug == model::Slug::approval_expired;
  }
};

}  // namespace sluice::engine
