// A test machine with a fake npm: a directory for programs, and a PATH that begins with the test's scripts.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "harness/harness.h"
#include "workspace/workspace.h"

namespace sluice::installation {

class FakeNpm : public testing::Test {
 protected:
  FakeNpm() {
    std::string pattern = std::filesystem::temp_directory_path() / "sluice-npm-XXXXXX";
    home = mkdtemp(pattern.data());
    programs = home / "programs";
    std::filesystem::create_directory(home / "bin");
    setenv("PATH", ((home / "bin").string() + ":/usr/bin:/bin").c_str(), 1);
    setenv("FAKE_HOME", home.c_str(), 1);
  }
  ~FakeNpm() override {
    setenv("PATH", path_before.c_str(), 1);
    EXPECT_TRUE(workspace::remove_tree(home));
  }

  static void write(const std::filesystem::path& file, std::string_view text, mode_t mode = 0644) {
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::trunc) << text;
    chmod(file.c_str(), mode);
  }
  // `script` runs where the project is, with $package set to the name without its version and $version to that.
  void npm_does(const std::string& script) {
    write(home / "bin/npm",
          "#!/bin/sh\necho \"$@\" >>$FAKE_HOME/calls\nfor spec; do :; done\npackage=${spec%@*}; version=${spec##*@}\n" +
              script,
          0755);
  }
  // Installs the package and the program like the real npm.
  void npm_installs(const harness::Program& program, const std::string& version = "$version") {
    npm_does("binary=" + std::string(program.binary) + "\nversion=" + version + R"(
mkdir -p node_modules/$package $(dirname $binary)
printf '{"name":"%s","version":"%s"}' $package $version >node_modules/$package/package.json
printf '#!/bin/sh\necho fake %s\n' $version >$binary
chmod 755 $binary
)");
  }
  std::string calls() const {
    std::ifstream file(home / "calls");
    return {std::istreambuf_iterator<char>(file), {}};
  }

  const std::string path_before = std::getenv("PATH");
  std::filesystem::path home;
  std::filesystem::path programs;
};

}  // namespace sluice::installation
