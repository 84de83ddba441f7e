#include "installation/programs.h"

#include "installation/fake_npm_fixture.h"
#include "installation/options.h"
#include "installation/program_install.h"

namespace sluice::installation {
namespace programs_test {

class ProgramsTest : public FakeNpm {
 protected:
  ProgramsTest() { sandboxes.harness_dir = programs; }
  FoundProgram look(std::string_view path = "") { return look_for(codex, sandboxes, path); }
  // As a global npm install leaves it: a link to a file of the package.
  void put_in_path(const std::string& version) {
    const auto package = home / "lib/node_modules/@openai/codex";
    write(package / "bin/codex.js", "#!/bin/sh\n", 0755);
    write(package / "package.json", R"({"name":"@openai/codex","version":")" + version + "\"}");
    std::filesystem::create_symlink(package / "bin/codex.js", home / "bin/codex");
  }

  const harness::Program& codex = *harness::find_program("codex");
  sandbox::SandboxOptions sandboxes;
};

TEST_F(ProgramsTest, Every_known_program_is_pinned_and_found_by_its_type) {
  EXPECT_EQ(harness::programs().size(), 4u);
  for (const auto& program : harness::programs()) {
    EXPECT_EQ(harness::find_program(program.agent_type), &program);
    EXPECT_FALSE(program.package.empty() || program.binary.empty() || program.name.empty());
    EXPECT_TRUE(program.version.find_first_not_of("0123456789.") == program.version.npos) << program.version;
    EXPECT_TRUE(program.binary.starts_with("node_modules/")) << program.binary;
  }
  EXPECT_EQ(harness::find_program("native"), nullptr);
  EXPECT_EQ(harness::find_program("acp"), nullptr);
}

TEST_F(ProgramsTest, An_installed_one_is_bound_into_sandboxes) {
  npm_installs(codex);
  ASSERT_TRUE(install_program(codex, programs));
  put_in_path("9.9.9");
  const auto found = look((home / "bin").string());
  EXPECT_EQ(found.place, ProgramPlace::installed);
  EXPECT_EQ(found.folder, programs / "codex");
  EXPECT_EQ(found.in_sandbox, "/opt/harness/codex/" + std::string(codex.binary));
  EXPECT_EQ(found.version, codex.version);
  EXPECT_TRUE(found.is_tested());
  const auto place = place_of("codex", sandboxes);
  ASSERT_TRUE(place);
  EXPECT_EQ(place->path, found.in_sandbox);
  EXPECT_EQ(place->folder, found.folder);
  EXPECT_FALSE(place_of("native", sandboxes));
}

TEST_F(ProgramsTest, An_installed_program_has_the_version_of_its_package) {
  npm_installs(codex);
  ASSERT_TRUE(install_program(codex, programs));
  write(programs / "codex/node_modules/@openai/codex/package.json", R"({"name":"@openai/codex","version":"0.170.1"})");
  const auto found = look();
  EXPECT_EQ(found.version, "0.170.1");
  EXPECT_NE(found.describe().find("0.170.1, "), std::string::npos) << found.describe();
  EXPECT_NE(found.describe().find("tested with 0.166.0, used all the same"), std::string::npos) << found.describe();
  std::filesystem::remove(programs / "codex/node_modules/@openai/codex/package.json");
  EXPECT_EQ(look().version, codex.version) << "the record still says what was installed";
}

TEST_F(ProgramsTest, An_unfinished_installation_does_not_count) {
  write(programs / "codex" / codex.binary, "", 0755);
  EXPECT_EQ(look().place, ProgramPlace::missing);
  EXPECT_EQ(look().describe(), "not installed; install it with: sluice harness install codex");
}

TEST_F(ProgramsTest, A_program_in_PATH_is_used_if_sandboxes_see_the_real_file) {
  put_in_path(std::string(codex.version));
  const std::string path = "relative:/nowhere:" + (home / "bin").string();
  const auto hidden = look(path);
  EXPECT_EQ(hidden.place, ProgramPlace::hidden);
  EXPECT_FALSE(hidden.is_usable());
  EXPECT_NE(hidden.describe().find("sandboxes do not see it"), std::string::npos) << hidden.describe();
  sandboxes.extra_paths = {home / "bin"};
  EXPECT_EQ(look(path).place, ProgramPlace::hidden) << "the link leads elsewhere";
  sandboxes.extra_paths = {home / "lib"};
  const auto seen = look(path);
  EXPECT_EQ(seen.place, ProgramPlace::path);
  EXPECT_EQ(seen.in_sandbox, home / "lib/node_modules/@openai/codex/bin/codex.js");
  EXPECT_EQ(seen.version, codex.version);
  EXPECT_TRUE(seen.folder.empty());
}

TEST_F(ProgramsTest, Programs_below_usr_are_seen_unless_the_sandbox_has_another_root) {
  harness::Program shell = codex;
  shell.name = "env";
  EXPECT_EQ(look_for(shell, sandboxes, "/usr/bin").place, ProgramPlace::path);
  sandboxes.root = "/images/debian";
  EXPECT_EQ(look_for(shell, sandboxes, "/usr/bin").place, ProgramPlace::hidden);
}

TEST_F(ProgramsTest, Another_version_is_reported_and_used) {
  put_in_path("0.1.0");
  sandboxes.extra_paths = {home};
  const auto found = look((home / "bin").string());
  EXPECT_TRUE(found.is_usable());
  EXPECT_FALSE(found.is_tested());
  EXPECT_NE(found.describe().find("tested with 0.166.0, used all the same"), std::string::npos) << found.describe();
}

TEST(HarnessDir, The_harness_directory_is_below_the_data_directory_unless_it_is_configured) {
  const auto dir = [](std::vector<std::string> flags) {
    const auto config = Config::read({std::move(flags), {}});
    return sandbox_options(config.value(), "/data").harness_dir;
  };
  EXPECT_EQ(dir({}), "/data/harness");
  EXPECT_EQ(dir({"--harness.dir", "/opt/programs/"}), "/opt/programs");
  EXPECT_EQ(dir({"--harness.dir", "/opt/x/../programs"}), "/opt/programs");
}

}  // namespace programs_test
}  // namespace sluice::installation
