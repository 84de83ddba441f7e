// Commands about what agents are given and hand back.
#include "cli/folder_fixture.h"

namespace sluice::cli {
namespace objects_test {

namespace fs = std::filesystem;

using ObjectsTest = FolderTest;

TEST_F(ObjectsTest, A_repository_is_named_with_what_the_flags_say) {
  run({"repositories", "create", "site", "https://h/x", "--ref", "main", "--depth", "0", "--credential", "GIT"});
  EXPECT_EQ(last(),
            R"(POST /v1/repositories {"name":"site","url":"https://h/x","ref":"main","credential":"GIT","depth":0})");
  EXPECT_EQ(run({"repositories", "create", "site", "https://h/x", "--depth", "all"}), exit_usage);
  run({"repositories", "show", "rep_1"});
  EXPECT_EQ(last(), "GET /v1/repositories/rep_1");
  run({"repositories", "delete", "../x"});
  EXPECT_EQ(last(), "DELETE /v1/repositories/%2E%2E%2Fx");
}

TEST_F(ObjectsTest, A_directory_is_pushed_as_a_skill) {
  write("SKILL.md", "---\n");
  write("bin/run", "\xff");
  fs::permissions(folder / "bin/run", fs::perms::owner_all);
  write(".git/HEAD", "x");
  EXPECT_EQ(run({"skills", "push", folder.string()}), exit_ok);
  EXPECT_TRUE(last().starts_with(R"(POST /v1/skills {"files":[)")) << last();
  EXPECT_NE(last().find(R"({"path":"bin/run","content_base64":"/w","executable":true})"), std::string::npos) << last();
  EXPECT_NE(last().find(R"({"path":"SKILL.md","content_base64":"LS0tCg","executable":false})"), std::string::npos);
  EXPECT_EQ(last().find(".git"), std::string::npos);
}

TEST_F(ObjectsTest, What_is_no_skill_is_not_pushed) {
  EXPECT_EQ(run({"skills", "push", folder.string()}), exit_usage);
  EXPECT_NE(console.errors.find("it has no SKILL.md"), std::string::npos) << console.errors;
  write("SKILL.md", "x");
  fs::create_symlink("/etc/passwd", folder / "link");
  EXPECT_EQ(run({"skills", "push", folder.string()}), exit_usage);
  EXPECT_NE(console.errors.find("is a link"), std::string::npos);
  EXPECT_TRUE(remote.asked.empty());
}

TEST_F(ObjectsTest, An_environment_has_variables_and_a_script) {
  write("setup.sh", "make\n");
  run({"environments", "create", "build", "--variables", "A=1,B=x=y", "--script", (folder / "setup.sh").string()});
  EXPECT_EQ(last(), R"(POST /v1/environments {"name":"build","variables":{"A":"1","B":"x=y"},"script":"make\n"})");
  EXPECT_EQ(run({"environments", "create", "build", "--variables", "A"}), exit_usage);
  EXPECT_EQ(run({"environments", "create", "build", "--script", "/nowhere"}), exit_usage);
}

TEST_F(ObjectsTest, Files_are_saved_but_not_over_others) {
  remote.answer = std::string("\0bytes", 6);
  const auto target = (folder / "out").string();
  EXPECT_EQ(run({"files", "get", "fil_1", "--output", target}), exit_ok);
  EXPECT_EQ(last(), "GET /v1/files/fil_1/content");
  EXPECT_EQ(fs::file_size(target), 6U);
  EXPECT_EQ(run({"files", "get", "fil_1", "--output", target}), exit_usage);
  EXPECT_EQ(run({"skills", "pull", "skl_1"}), exit_ok);
  EXPECT_EQ(console.output, remote.answer);
  console.terminal = true;
  EXPECT_EQ(run({"skills", "pull", "skl_1"}), exit_usage) << "bytes are not for people";
}

TEST_F(ObjectsTest, A_message_names_what_it_works_with) {
  run({"send", "hi", "--conversation", "con_1", "--repository", "rep_1", "--skill", "skl_1,skl_2", "--env", "build"});
  EXPECT_EQ(last(),
            R"(send con_1 {"content":"hi","repository_id":"rep_1","env":"build","skill_ids":["skl_1","skl_2"]})");
}

TEST_F(ObjectsTest, An_execution_is_of_the_tenants_workspace) {
  run({"executions", "create", "--tenant", "tnt_01", "--prompt", "do", "--no-upload"});
  EXPECT_EQ(last(), R"(POST /api/workspaces/wsp_01/executions {"prompt":"do","upload":false})");
  run({"runs", "files", "run_1"});
  EXPECT_EQ(last(), "GET /v1/runs/run_1/files");
}

}  // namespace objects_test
}  // namespace sluice::cli
