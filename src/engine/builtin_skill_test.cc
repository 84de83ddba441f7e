// Skills that come with the server, and the way of a run's box into its workspace.
#include "engine/engine_fixture.h"

namespace sluice::engine {
namespace builtin_skill_test {

class FixedMaterials final : public MaterialSource {
 public:
  std::shared_ptr<dispatch::Supplies> supplies_for(const model::Run&) override { return nullptr; }
  dispatch::WorkspaceAccess workspace_for(const model::Run& run, model::WorkspaceUse use) override {
    return {"http://here/api/workspaces/wsp_1", "asbx_" + run.id.text(), use};
  }
  std::optional<dispatch::SkillUse> builtin_skill(std::string_view name) override {
    if (name == "unknown") return std::nullopt;
    return dispatch::SkillUse{"builtin." + std::string(name), std::string(name), "of the server", ""};
  }
};

class BuiltinSkillTest : public EngineTest {
 protected:
  BuiltinSkillTest() {
    material_source = &materials_;
    restart_server();
  }
  ~BuiltinSkillTest() override { stop_server(); }

  std::vector<std::string> skills_given(Send what) {
    send_ok(std::move(what));
    std::vector<std::string> ids;
    for (const auto& skill : dispatcher.jobs.back()->dispatch.materials.skills) ids.push_back(skill.id);
    return ids;
  }

 private:
  FixedMaterials materials_;
};

TEST_F(BuiltinSkillTest, A_run_is_given_those_that_its_message_wants) {
  auto what = message("hello");
  what.extras.builtin_skills = {"tables", "unknown", "files"};
  EXPECT_EQ(skills_given(std::move(what)), (std::vector<std::string>{"builtin.tables", "builtin.files"}));
  agent_finishes();
  EXPECT_EQ(skills_given(message("and none?")), std::vector<std::string>{});
}

TEST_F(BuiltinSkillTest, A_skill_of_the_tenant_wins_over_one_of_the_same_name) {
  const auto own = make_skill("tables");
  auto what = message("hello");
  what.skill_ids = {own.text()};
  what.extras.builtin_skills = {"tables", "files"};
  EXPECT_EQ(skills_given(std::move(what)), (std::vector<std::string>{own.text(), "builtin.files"}));
}

TEST_F(BuiltinSkillTest, S_4_A_run_with_a_skill_of_the_servers_has_a_way_into_its_workspace) {
  auto what = message("hello");
  what.extras.builtin_skills = {"tables"};
  const auto run = send_ok(std::move(what));
  const auto& access = dispatcher.jobs.back()->dispatch.workspace;
  EXPECT_EQ(access.base_url, "http://here/api/workspaces/wsp_1");
  EXPECT_EQ(access.token, "asbx_" + run.id.text());
  EXPECT_EQ(access.use, model::WorkspaceUse::write);
}

TEST_F(BuiltinSkillTest, A_run_without_such_a_skill_has_the_way_into_its_workspace_that_its_agent_says) {
  send_ok(message("hello"));
  EXPECT_EQ(dispatcher.jobs.back()->dispatch.workspace.base_url, "");
  EXPECT_EQ(dispatcher.jobs.back()->dispatch.workspace.token, "");
  agent_finishes();
  for (const auto use : {model::WorkspaceUse::read, model::WorkspaceUse::write}) {
    store::AgentPatch patch;
    patch.kit.emplace().workspace = use;
    store::update_agent(store->database(), tenant.id, agent.id, patch, loop.now(),
                        [](Result<model::Agent> done) { ASSERT_TRUE(done); });
    loop.settle();
    send_ok(message("again"));
    EXPECT_NE(dispatcher.jobs.back()->dispatch.workspace.base_url, "");
    EXPECT_EQ(dispatcher.jobs.back()->dispatch.workspace.use, use);
    agent_finishes();
  }
}

}  // namespace builtin_skill_test
}  // namespace sluice::engine
