// The contract of every store, about what AG-UI clients call conversations and runs, and what agents are made of.
#include "store/gates_fixture.h"

namespace sluice::store {
namespace threads_contract_test {

class ThreadContract : public GateContract {
 public:
  NewRun named(model::ConversationId where, std::string thread_id, std::string run_id) {
    auto made = a_run(tenant, where);
    made.agui = AguiRun{.thread_id = std::move(thread_id), .run_id = std::move(run_id)};
    return made;
  }
  // With a conversation of its own.
  NewRun named_anew(std::string thread_id, std::string run_id) {
    const auto made_for = a_conversation(tenant);
    auto made = named(made_for.id, std::move(thread_id), std::move(run_id));
    made.conversation = made_for;
    return made;
  }
  AguiRun going_on(const Accepted& begun, std::string thread_id, std::string run_id, int64_t segment) const {
    return {tenant, std::move(thread_id), std::move(run_id), begun.run.conversation_id, begun.run.id, segment};
  }
};

INSTANTIATE_TEST_SUITE_P(Stores, ThreadContract, every_backend, name_of_backend);

TEST_P(ThreadContract, A_thread_and_its_run_are_there_with_the_run_that_they_name) {
  const auto begun = accepted(named_anew("thread ✓", "run-1"));
  restart();
  EXPECT_EQ(get(&store::thread, tenant, "thread ✓"), begun.run.conversation_id);
  EXPECT_EQ(get(&store::thread_of, begun.run.conversation_id), "thread ✓");
  const auto kept = get(&store::agui_run, tenant, "thread ✓", "run-1");
  EXPECT_EQ(kept.tenant_id, tenant);
  EXPECT_EQ(kept.thread_id, "thread ✓");
  EXPECT_EQ(kept.run_id, "run-1");
  EXPECT_EQ(kept.conversation_id, begun.run.conversation_id);
  EXPECT_EQ(kept.run, begun.run.id);
  EXPECT_EQ(kept.segment, 0);
}

TEST_P(ThreadContract, What_nobody_named_is_not_found) {
  const auto begun = accepted(tenant, conversation);
  EXPECT_EQ(get(&store::thread_of, conversation), std::nullopt);
  EXPECT_TRUE(get(&store::agui_runs_of, begun.run.id).empty());
  accepted(named_anew("t", "r"));
  const auto other = make_tenant("other");
  EXPECT_EQ(refused(&store::thread, tenant, "u"), ErrorKind::not_found);
  EXPECT_EQ(refused(&store::thread, other, "t"), ErrorKind::not_found) << "names belong to a tenant";
  EXPECT_EQ(refused(&store::agui_run, tenant, "t", "s"), ErrorKind::not_found);
  EXPECT_EQ(refused(&store::agui_run, other, "t", "r"), ErrorKind::not_found);
  EXPECT_EQ(refused(&store::agui_run_named, other, "r"), ErrorKind::not_found);
}

TEST_P(ThreadContract, Two_tenants_may_use_the_same_names) {
  accepted(named_anew("t", "r"));
  const auto other = make_tenant("other");
  auto made = a_run(other, make_conversation(other).id);
  made.agui = AguiRun{.thread_id = "t", .run_id = "r"};
  const auto begun = accepted(made);
  EXPECT_EQ(get(&store::agui_run, other, "t", "r").run, begun.run.id);
}

// Two requests that both find no thread yet: the second must not make another conversation for it.
TEST_P(ThreadContract, A_thread_belongs_to_one_conversation_and_a_conversation_to_one_thread) {
  const auto begun = accepted(named_anew("t", "r1"));
  const auto second = named_anew("t", "r2");
  EXPECT_EQ(refused(&journal::Journal::accept, second), ErrorKind::invalid);
  EXPECT_EQ(refused(&store::conversation, tenant, second.conversation->id), ErrorKind::not_found) << "nothing is left";
  get(&journal::Journal::append, the_end(begun));
  EXPECT_EQ(refused(&journal::Journal::accept, named(begun.run.conversation_id, "other", "r2")), ErrorKind::invalid);
  EXPECT_EQ(refused(&store::thread, tenant, "other"), ErrorKind::not_found);
  accepted(named(begun.run.conversation_id, "t", "r2"));
}

TEST_P(ThreadContract, A_runs_name_is_given_once_in_its_thread) {
  const auto begun = accepted(named_anew("t", "r"));
  EXPECT_EQ(refused(&journal::Journal::accept, named(begun.run.conversation_id, "t", "r")), ErrorKind::invalid)
      << "told rather than that the conversation is busy";
  get(&journal::Journal::append, the_end(begun));
  EXPECT_EQ(refused(&journal::Journal::accept, named(begun.run.conversation_id, "t", "r")), ErrorKind::invalid);
  const auto elsewhere = accepted(named_anew("u", "r"));
  EXPECT_EQ(get(&store::agui_run, tenant, "u", "r").run, elsewhere.run.id);
  EXPECT_EQ(get(&store::agui_run_named, tenant, "r").run, elsewhere.run.id) << "the newest";
}

TEST_P(ThreadContract, What_is_not_accepted_names_nothing) {
  const auto begun = accepted(tenant, conversation);
  EXPECT_TRUE(std::holds_alternative<Busy>(get(&journal::Journal::accept, named(conversation, "t", "r"))));
  auto full = named_anew("t", "r");
  full.only_replay = true;
  EXPECT_TRUE(std::holds_alternative<NotCreated>(get(&journal::Journal::accept, full)));
  EXPECT_EQ(refused(&store::thread, tenant, "t"), ErrorKind::not_found);
  EXPECT_EQ(refused(&store::agui_run, tenant, "t", "r"), ErrorKind::not_found);
}

TEST_P(ThreadContract, A_known_key_is_answered_whatever_the_names_are) {
  auto made = named_anew("t", "r");
  made.idempotency = Idempotency{make_id<model::ServiceKeyId>(), "run", "key", "sha"};
  const auto begun = accepted(made);
  const auto again = get(&journal::Journal::accept, made);
  ASSERT_TRUE(std::holds_alternative<Replay>(again));
  EXPECT_EQ(std::get<Replay>(again).run->id, begun.run.id);
}

TEST_P(ThreadContract, A_run_that_goes_on_has_another_name_for_each_segment) {
  const auto begun = accepted(named(conversation, "t", "r0"));
  const auto asked = an_approval(begun);
  get(&journal::Journal::append, the_park(begun, asked));
  auto decision = the_decision(begun, asked);
  decision.agui = going_on(begun, "t", "r1", 1);
  get(&journal::Journal::append, decision);
  restart();
  const auto runs = get(&store::agui_runs_of, begun.run.id);
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0].run_id, "r0");
  EXPECT_EQ(runs[1].run_id, "r1");
  EXPECT_EQ(runs[1].segment, 1);
  EXPECT_EQ(get(&store::agui_run, tenant, "t", "r1").run, begun.run.id);
}

TEST_P(ThreadContract, An_append_with_a_name_that_is_not_free_leaves_nothing_and_may_be_made_again) {
  accepted(named_anew("foreign", "x"));
  const auto begun = accepted(named(conversation, "t", "r0"));
  const auto asked = an_approval(begun);
  get(&journal::Journal::append, the_park(begun, asked));
  auto decision = the_decision(begun, asked);
  for (const auto& [thread_id, run_id] : {std::pair("t", "r0"), {"foreign", "y"}, {"unheard-of", "y"}}) {
    decision.agui = going_on(begun, thread_id, run_id, 1);
    EXPECT_EQ(refused(&journal::Journal::append, decision), ErrorKind::invalid) << thread_id;
    EXPECT_EQ(get(&store::open_approval, begun.run.id).id, asked.id);
    EXPECT_TRUE(kept_secrets().empty());
    EXPECT_EQ(chain().size(), 1U);
  }
  decision.agui = going_on(begun, "t", "r1", 1);
  get(&journal::Journal::append, decision);
  auto fenced = the_end(begun);
  fenced.epoch.value += 1;
  fenced.agui = going_on(begun, "t", "r0", 2);
  EXPECT_EQ(refused(&journal::Journal::append, fenced), ErrorKind::conflict) << "another writer is told first";
}

// A run that no AG-UI client started may be gone on with by one.
TEST_P(ThreadContract, An_append_makes_the_thread_of_a_conversation_that_has_none) {
  const auto begun = accepted(tenant, conversation);
  const auto asked = an_approval(begun);
  get(&journal::Journal::append, the_park(begun, asked));
  auto decision = the_decision(begun, asked);
  decision.agui = going_on(begun, "t", "r1", 1);
  get(&journal::Journal::append, decision);
  EXPECT_EQ(get(&store::thread, tenant, "t"), conversation);
  EXPECT_EQ(get(&store::agui_runs_of, begun.run.id).at(0).segment, 1);
}

// ── what agents are made of ──

model::AgentKit a_kit() {
  model::AgentKit kit;
  kit.agent_type = "acp";
  kit.command = {"/usr/bin/agent", "--stdio"};
  kit.mcp_servers = {{"crm", "https://crm.example/mcp", {{"Authorization", "Bearer {{secret:CRM}}"}}, {}, {}},
                     {"files", "", {}, {"npx", "files"}, {{"ROOT", "/workspace"}}}};
  kit.tools = {{{"lookup", "Looks \"it\" up ✓", R"({"type":"object"})"}, "https://host.example/lookup", 30}};
  kit.code_mode = true;
  return kit;
}

// H-1, H-6.
TEST_P(ThreadContract, An_agents_kit_is_kept_and_changed) {
  auto agent = an_agent(tenant, "coder");
  agent.kit = a_kit();
  get(&store::create_agent, agent);
  restart();
  EXPECT_EQ(get(&store::agent, tenant, agent.id).kit, a_kit());
  AgentPatch patch;
  patch.name = "renamed";
  EXPECT_EQ(get(&store::update_agent, tenant, agent.id, patch, Timestamp{5}).kit, a_kit()) << "left out is left alone";
  patch.kit = model::AgentKit{};
  get(&store::update_agent, tenant, agent.id, patch, Timestamp{6});
  EXPECT_EQ(get(&store::agent, tenant, agent.id).kit, model::AgentKit{});
}

TEST_P(ThreadContract, A_conversation_has_its_agents_type_from_when_it_was_made) {  // H-1
  auto agent = an_agent(tenant, "coder");
  agent.kit.agent_type = "codex";
  get(&store::create_agent, agent);
  auto made = a_conversation(tenant);
  made.agent_id = agent.id;
  get(&journal::Journal::create_conversation, NewConversation{made, "", {}});
  EXPECT_EQ(get(&store::conversation, tenant, made.id).runtime.agent_type, "codex");

  auto run = named_anew("t", "r");
  run.conversation->agent_id = agent.id;
  const auto begun = accepted(run);
  EXPECT_EQ(begun.conversation.runtime.agent_type, "codex");
  EXPECT_EQ(get(&store::conversation, tenant, begun.run.conversation_id).runtime.agent_type, "codex");

  auto chosen = a_conversation(tenant);
  chosen.agent_id = agent.id;
  chosen.runtime.agent_type = "opencode";
  get(&journal::Journal::create_conversation, NewConversation{chosen, "", {}});
  EXPECT_EQ(get(&store::conversation, tenant, chosen.id).runtime.agent_type, "opencode");

  AgentPatch patch;
  patch.kit = model::AgentKit{};
  get(&store::update_agent, tenant, agent.id, patch, Timestamp{5});
  ConversationPatch runtime;
  runtime.runtime = model::Runtime{.agent_type = "", .mode = model::PlacementMode::sticky};
  const auto changed = get(&store::update_conversation, tenant, made.id, runtime, Timestamp{6});
  EXPECT_EQ(changed.runtime.agent_type, "codex") << "it never changes";
  EXPECT_EQ(changed.runtime.mode, model::PlacementMode::sticky);
  EXPECT_EQ(get(&store::conversation, tenant, conversation).runtime.agent_type, "native");
}

TEST_P(ThreadContract, A_tenant_may_let_AG_UI_clients_decide_unsigned) {
  EXPECT_FALSE(get(&store::tenant, tenant).agui_unsigned_approvals);
  TenantPatch patch;
  patch.agui_unsigned_approvals = true;
  EXPECT_TRUE(get(&store::update_tenant, tenant, patch, Timestamp{5}).agui_unsigned_approvals);
  restart();
  EXPECT_TRUE(get(&store::tenant, tenant).agui_unsigned_approvals);
}

}  // namespace threads_contract_test
}  // namespace sluice::store
