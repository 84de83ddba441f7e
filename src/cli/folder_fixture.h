// Commands with a folder of files of their own.
#pragma once

#include <filesystem>
#include <fstream>

#include "cli/fake_terminal.h"

namespace sluice::cli {

class FolderTest : public CommandsTest {
 protected:
  FolderTest() {
    std::string name = (std::filesystem::temp_directory_path() / "sluice-cli-XXXXXX").string();
    SLUICE_CHECK(::mkdtemp(name.data()) != nullptr);
    folder = name;
  }
  ~FolderTest() override { std::filesystem::remove_all(folder); }
  // Its path.
  std::string write(const std::string& name, const std::string& bytes) const {
    std::filesystem::create_directories((folder / name).parent_path());
    std::ofstream(folder / name, std::ios::binary) << bytes;
    return (folder / name).string();
  }
  const std::string& last() const { return remote.asked.back(); }
  bool reports(std::string_view words) const { return console.errors.find(words) != std::string::npos; }

  std::filesystem::path folder;
};

}  // namespace sluice::cli
