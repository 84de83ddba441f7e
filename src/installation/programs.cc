#include "installation/programs.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/json.h"
#include "installation/data_dir.h"

namespace sluice::installation {
namespace {

namespace fs = std::filesystem;

bool is_below(const fs::path& path, const fs::path& directory) {
  const auto [end, rest] = std::mismatch(directory.begin(), directory.end(), path.begin(), path.end());
  return end == directory.end() && rest != path.end();
}

// A sandbox made from an image has the /usr of that image instead of this machine's.
bool is_seen(const fs::path& file, const sandbox::SandboxOptions& sandboxes) {
  const auto holds = [&](const std::string& directory) { return is_below(file, directory); };
  return (sandboxes.root.empty() && holds("/usr")) || std::ranges::any_of(sandboxes.extra_paths, holds);
}

// The file with all links resolved, because sandsandboxes may see a link but not its target.
fs::path find_in_path(std::string_view name, std::string_view path) {
  while (!path.empty()) {
    const auto colon = std::min(path.find(':'), path.size());
    const fs::path candidate = fs::path(path.substr(0, colon)) / name;
    std::error_code none;
    if (candidate.is_absolute() && fs::is_regular_file(candidate, none) && access(candidate.c_str(), X_OK) == 0) {
      auto real = fs::canonical(candidate, none);
      if (!none) return real;
    }
    path.remove_prefix(std::min(colon + 1, path.size()));
  }
  return {};
}

std::string member_of(const fs::path& file, std::string_view member) {
  const auto text = read_small_file(file);
  if (!text || !text.value()) return "";
  const auto parsed = json::Document::parse(*text.value());
  if (!parsed) return "";
  const auto found = parsed.value().root().find(member);
  return found ? std::string(found->string().value_or("")) : "";
}

// The version of the package that a file belongs to, if npm installed it.
std::string version_beside(const fs::path& file, std::string_view package) {
  for (auto at = file.parent_path(); at.has_relative_path(); at = at.parent_path()) {
    const auto about = at / "package.json";
    if (member_of(about, "name") == package) return member_of(about, "version");
  }
  return "";
}

std::string_view environment_path() {
  const char* const path = std::getenv("PATH");
  return path == nullptr ? "" : path;
}

}  // namespace

std::string_view name_of(ProgramPlace place) {
  switch (place) {
    case ProgramPlace::installed: return "installed";
    case ProgramPlace::path: return "PATH";
    case ProgramPlace::hidden: return "hidden";
    case ProgramPlace::missing: break;
  }
  return "missing";
}

std::string FoundProgram::describe() const {
  const std::string type(program->agent_type);
  if (place == ProgramPlace::missing) return "not installed; install it with: sluice harness install " + type;
  if (place == ProgramPlace::hidden) {
    return file + " is in PATH, but sandsandboxes do not see it: sluice harness install " + type +
           ", or add its directory to sandbox.extra_paths";
  }
  const std::string where = (version.empty() ? "" : version + ", ") + (folder.empty() ? file : folder);
  return is_tested() ? where : where + "; tested with " + std::string(program->version) + ", used all the same";
}

std::string harness_dir(const Config& config, const std::string& data_dir) {
  const auto& chosen = config.text("harness.dir");
  const auto path = fs::absolute(chosen.empty() ? fs::path(data_dir) / "harness" : fs::path(chosen)).lexically_normal();
  return path.has_filename() ? path : path.parent_path();
}

FoundProgram look_for(const harness::Program& program, const sandbox::SandboxOptions& sandboxes,
                      std::string_view path) {
  FoundProgram found{.program = &program};
  const auto folder = fs::path(sandboxes.harness_dir) / program.agent_type;
  if (access((folder / program_record).c_str(), F_OK) == 0) {
    found.place = ProgramPlace::installed;
    found.folder = folder;
    found.file = folder / program.binary;
    found.in_sandbox = fs::path(harness::program_dir) / program.agent_type / program.binary;
    // Prefers the version in the package, because npm may have updated it after the installation that the record
    // describes.
    found.version = member_of(folder / "node_modules" / program.package / "package.json", "version");
    if (found.version.empty()) found.version = member_of(folder / program_record, "version");
    return found;
  }
  const auto file = find_in_path(program.name, path);
  if (file.empty()) return found;
  found.file = file;
  found.version = version_beside(file, program.package);
  found.place = is_seen(file, sandboxes) ? ProgramPlace::path : ProgramPlace::hidden;
  if (found.place == ProgramPlace::path) found.in_sandbox = file;
  return found;
}

std::vector<FoundProgram> look_for_programs(const sandbox::SandboxOptions& sandboxes) {
  std::vector<FoundProgram> all;
  for (const auto& program : harness::programs()) all.push_back(look_for(program, sandboxes, environment_path()));
  return all;
}

std::optional<programs::ProgramOptions::Place> place_of(const std::string& agent_type,
                                                        const sandbox::SandboxOptions& sandboxes) {
  const auto* const program = harness::find_program(agent_type);
  if (program == nullptr) return std::nullopt;
  auto found = look_for(*program, sandboxes, environment_path());
  if (!found.is_usable()) return std::nullopt;
  return programs::ProgramOptions::Place{std::move(found.in_sandbox), std::move(found.folder)};
}

}  // namespace sluice::installation
