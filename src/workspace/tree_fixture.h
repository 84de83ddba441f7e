// Trees for tests: made, read back and compared in a directory of the test's own.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "base/check.h"
#include "base/fd.h"
#include "workspace/workspace.h"

namespace sluice::workspace {

class TreeTest : public testing::Test {
 protected:
  TreeTest() {
    std::string pattern = testing::TempDir() + "treeXXXXXX";
    SLUICE_CHECK(mkdtemp(pattern.data()) != nullptr);
    home = pattern;
  }
  ~TreeTest() override { EXPECT_TRUE(remove_tree(home)); }

  std::string path(const std::string& below) const { return home / below; }

  // Below home, with the directories that it needs.
  void write(const std::string& below, std::string_view bytes) const {
    std::filesystem::create_directories((home / below).parent_path());
    std::ofstream out(home / below, std::ios::binary);
    out << bytes;
    SLUICE_CHECK(out.good());
  }
  void make_directory(const std::string& below) const { std::filesystem::create_directories(home / below); }
  void link(const std::string& below, const std::string& target) const {
    std::filesystem::create_directories((home / below).parent_path());
    std::filesystem::create_symlink(target, home / below);
  }
  void hide(const std::string& below) const {
    std::filesystem::create_directories((home / below).parent_path());
    SLUICE_CHECK(mknod(path(below).c_str(), S_IFCHR, 0) == 0);
  }
  std::string read(const std::string& below) const {
    std::ifstream in(home / below, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  OwnedFd open_directory(const std::string& below) const {
    OwnedFd fd(open(path(below).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    SLUICE_CHECK(bool(fd));
    return fd;
  }

  // Every path below, with what it is: "directory", "link to …", "hidden", "file …", "program …".
  std::map<std::string, std::string> look(const std::string& below) const {
    std::map<std::string, std::string> seen;
    const std::filesystem::path root = home / below;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
      const auto status = entry.symlink_status();
      const std::string name = entry.path().lexically_relative(root);
      using Type = std::filesystem::file_type;
      switch (status.type()) {
        case Type::directory: seen[name] = "directory"; break;
        case Type::symlink: seen[name] = "link to " + std::filesystem::read_symlink(entry.path()).string(); break;
        case Type::character: seen[name] = "hidden"; break;
        case Type::regular: {
          const bool program =
              (status.permissions() & std::filesystem::perms::owner_exec) != std::filesystem::perms::none;
          seen[name] = (program ? "program " : "file ") + read(std::filesystem::path(below) / name);
          break;
        }
        default: seen[name] = "something else";
      }
    }
    return seen;
  }

  std::filesystem::path home;
};

}  // namespace sluice::workspace
