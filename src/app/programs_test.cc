#include "app/programs.h"

#include "app/fake_npm_fixture.h"
#include "app/hands.h"
#include "app/harness_commands.h"
#include "app/program_install.h"

namespace sluice::app {
namespace programs_test {

class ProgramsTest : public FakeNpm {
 protected:
  ProgramsTest() { boxes.harness_dir = programs; }
  FoundProgram look(std::string_view path = "") { return look_for(codex, boxes, path); }
  // As a global npm install leaves it: a link to a file of the package.
  void put_in_path(const std::string& version) {
    const auto package = home / "lib/node_modules/@openai/codex";
    write(package / "bin/codex.js", "#!/bin/sh\n", 0755);
    write(package / "package.json", R"({"name":"@openai/codex","version":")" + version + "\"}");
    std::filesystem::create_symlink(package / "bin/codex.js", home / "bin/codex");
  }

  const harness::Program& codex = *harness::find_program("codex");
  sandbox::SandboxOptions boxes;
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

TEST_F(ProgramsTest, An_installed_one_is_bound_into_boxes) {
  npm_installs(codex);
  ASSERT_TRUE(install_program(codex, programs));
  put_in_path("9.9.9");
  const auto found = look((home / "bin").string());
  EXPECT_EQ(found.place, ProgramPlace::installed);
  EXPECT_EQ(found.folder, programs / "codex");
  EXPECT_EQ(found.in_box, "/opt/harness/codex/" + std::string(codex.binary));
  EXPECT_EQ(found.version, codex.version);
  EXPECT_TRUE(found.is_tested());
  const auto place = place_of("codex", boxes);
  ASSERT_TRUE(place);
  EXPECT_EQ(place->path, found.in_box);
  EXPECT_EQ(place->folder, found.folder);
  EXPECT_FALSE(place_of("native", boxes));
}

TEST_F(ProgramsTest, An_installed_one_has_the_version_that_is_there_whatever_was_installed) {
  npm_installs(codex);
  ASSERT_TRUE(install_program(codex, programs));
  write(programs / "codex/node_modules/@openai/codex/package.json", R"({"name":"@openai/codex","version":"0.170.1"})");
  const auto found = look();
  EXPECT_EQ(found.version, "0.170.1");
  EXPECT_NE(found.words().find("0.170.1, "), std::string::npos) << found.words();
  EXPECT_NE(found.words().find("tested with 0.166.0, used all the same"), std::string::npos) << found.words();
  std::filesystem::remove(programs / "codex/node_modules/@openai/codex/package.json");
  EXPECT_EQ(look().version, codex.version) << "the record still says what was installed";
}

TEST_F(ProgramsTest, Half_an_install_is_none) {
  write(programs / "codex" / codex.binary, "", 0755);
  EXPECT_EQ(look().place, ProgramPlace::missing);
  EXPECT_EQ(look().words(), "not here; sluice harness install codex puts it there");
}

TEST_F(ProgramsTest, One_in_PATH_is_used_if_boxes_see_the_real_file) {
  put_in_path(std::string(codex.version));
  const std::string path = "relative:/nowhere:" + (home / "bin").string();
  const auto hidden = look(path);
  EXPECT_EQ(hidden.place, ProgramPlace::hidden);
  EXPECT_FALSE(hidden.is_usable());
  EXPECT_NE(hidden.words().find("boxes do not see it"), std::string::npos) << hidden.words();
  boxes.extra_paths = {home / "bin"};
  EXPECT_EQ(look(path).place, ProgramPlace::hidden) << "the link leads elsewhere";
  boxes.extra_paths = {home / "lib"};
  const auto seen = look(path);
  EXPECT_EQ(seen.place, ProgramPlace::path);
  EXPECT_EQ(seen.in_box, home / "lib/node_modules/@openai/codex/bin/codex.js");
  EXPECT_EQ(seen.version, codex.version);
  EXPECT_TRUE(seen.folder.empty());
}

TEST_F(ProgramsTest, Below_usr_is_seen_unless_the_box_has_another) {
  harness::Program shell = codex;
  shell.name = "env";
  EXPECT_EQ(look_for(shell, boxes, "/usr/bin").place, ProgramPlace::path);
  boxes.root = "/images/debian";
  EXPECT_EQ(look_for(shell, boxes, "/usr/bin").place, ProgramPlace::hidden);
}

TEST_F(ProgramsTest, Another_version_is_told_and_used) {
  put_in_path("0.1.0");
  boxes.extra_paths = {home};
  const auto found = look((home / "bin").string());
  EXPECT_TRUE(found.is_usable());
  EXPECT_FALSE(found.is_tested());
  EXPECT_NE(found.words().find("tested with 0.166.0, used all the same"), std::string::npos) << found.words();
}

TEST(HarnessDir, Is_below_the_data_directory_unless_it_is_named) {
  const auto dir = [](std::vector<std::string> flags) {
    const auto config = Config::read({std::move(flags), {}});
    return sandbox_options(config.value(), "/data").harness_dir;
  };
  EXPECT_EQ(dir({}), "/data/harness");
  EXPECT_EQ(dir({"--harness.dir", "/opt/programs/"}), "/opt/programs");
  EXPECT_EQ(dir({"--harness.dir", "/opt/x/../programs"}), "/opt/programs");
}

TEST(HarnessOrder, Takes_the_types_and_leaves_the_configuration) {
  std::vector<std::string> words = {"install", "codex", "opencode", "--dir", "/x", "--data", "/y"};
  const auto order = take_harness_order(words);
  EXPECT_EQ(order.verb, "install");
  EXPECT_EQ(order.types, (std::vector<std::string>{"codex", "opencode"}));
  EXPECT_EQ(words, (std::vector<std::string>{"--harness.dir", "/x", "--data", "/y"}));
  words = {"check", "--dir=/x"};
  EXPECT_TRUE(take_harness_order(words).types.empty());
  EXPECT_EQ(words, std::vector<std::string>{"--harness.dir=/x"});
}

// The whole way: installed, listed, and started in a box as runs start it.
TEST_F(ProgramsTest, What_is_installed_starts_in_a_box) {
  const auto config = Config::read({{"--harness.dir", programs, "--sandbox.driver", "namespaces"}, {}});
  ASSERT_TRUE(config);
  npm_installs(codex);
  EXPECT_EQ(run_harness({"install", {"codex"}}, config.value(), Form::json), 0);
  EXPECT_EQ(run_harness({"list", {}}, config.value(), Form::human), 0);
  const auto check = [&](std::vector<std::string> types, int code) {
    testing::internal::CaptureStdout();
    EXPECT_EQ(run_harness({"check", std::move(types)}, config.value(), Form::human), code);
    return testing::internal::GetCapturedStdout();
  };
  const auto has = [](const std::string& said, std::string_view words) { return said.find(words) != said.npos; };
  const auto fine = check({}, 0);
  EXPECT_TRUE(has(fine, "0.166.0 runs in a box") && !has(fine, "tested with")) << fine;
  const auto half = check({"codex", "opencode"}, 1);
  EXPECT_TRUE(has(half, "0.166.0 runs in a box") && has(half, "sluice harness install opencode")) << half;
  EXPECT_EQ(check({"kodex"}, 2), "");
  write(programs / "codex" / codex.binary, "#!/bin/sh\necho codex-cli 0.1.2\n", 0755);
  const auto other = check({"codex"}, 0);
  EXPECT_TRUE(has(other, "0.1.2 runs in a box") && has(other, "tested with 0.166.0")) << other;
  write(programs / "codex" / codex.binary, "#!/bin/sh\necho no library >&2\nexit 127\n", 0755);
  const auto broken = check({"codex"}, 1);
  EXPECT_TRUE(has(broken, "ended as exited 127: no library")) << broken;
}

}  // namespace programs_test
}  // namespace sluice::app
