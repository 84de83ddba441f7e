#include "installation/program_install.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/fd.h"
#include "base/json.h"
#include "installation/child_process.h"
#include "installation/data_dir.h"
#include "installation/programs.h"
#include "workspace/workspace.h"

namespace sluice::installation {
namespace {

namespace fs = std::filesystem;

Error unavailable(std::string what) { return {ErrorKind::unavailable, std::move(what)}; }

// The box's user must be able to read what npm writes, whatever the caller's habits.
class OpenUmask final {
 public:
  OpenUmask() : before_(umask(022)) {}
  ~OpenUmask() { umask(before_); }
  OpenUmask(const OpenUmask&) = delete;
  OpenUmask& operator=(const OpenUmask&) = delete;

 private:
  const mode_t before_;
};

// Held for as long as it is open.
Result<OwnedFd> lock(const fs::path& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  OwnedFd file(open((directory / ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!file) return unavailable("write to " + directory.string() + ": " + std::strerror(errno));
  if (flock(file.get(), LOCK_EX | LOCK_NB) == 0) return file;
  return Error{ErrorKind::conflict, "another sluice harness install is at work in " + directory.string()};
}

std::string_view last_line_with(std::string_view text, std::string_view word) {
  while (!text.empty()) {
    const auto end = text.find_last_not_of('\n');
    if (end == text.npos) break;
    const auto begin = text.substr(0, end + 1).rfind('\n');
    const auto line = text.substr(begin == text.npos ? 0 : begin + 1, end - (begin == text.npos ? 0 : begin + 1) + 1);
    if (line.find(word) != line.npos) return line;
    text = begin == text.npos ? "" : text.substr(0, begin);
  }
  return "";
}

// npm reports reasons in words that change and in codes that do not.
std::string complaint_of(const harness::Program& program, const ChildEnd& end) {
  const std::string_view said = end.output;
  const std::string package = std::string(program.package) + "@" + std::string(program.version);
  constexpr std::array<std::string_view, 7> unreached = {"ENOTFOUND", "ECONNREFUSED", "ECONNRESET",  "ETIMEDOUT",
                                                         "EAI_AGAIN", "ENETUNREACH",  "EHOSTUNREACH"};
  for (const auto code : unreached) {
    if (said.find(code) == said.npos) continue;
    return "npm cannot reach its registry (" + std::string(code) +
           "): `npm config get registry` names it; behind a proxy set HTTPS_PROXY";
  }
  if (said.find("E404") != said.npos || said.find("ETARGET") != said.npos) {
    return "npm's registry has no " + package + ": `npm config get registry` names it";
  }
  if (said.find("ENOSPC") != said.npos) return "the disk is full; a program needs up to 800 MiB while it is installed";
  auto line = last_line_with(said, "npm error");
  if (line.empty()) line = last_line_with(said, "");
  return "npm install " + package + " ended with " + std::to_string(end.code) + ": " + std::string(line);
}

Result<Unit> fetch(const harness::Program& program, const fs::path& into) {
  const std::string package = std::string(program.package) + "@" + std::string(program.version);
  // Its own project, so that npm looks for none above. The exact version: a range would be bent to the age of node.
  std::ofstream(into / "package.json") << "{\"private\":true}\n";
  const auto ended =
      run_child({.argv = {"npm", "install", "--prefix", into, "--global=false", "--ignore-scripts",
                          "--include=optional", "--no-audit", "--no-fund", "--no-update-notifier", "--no-package-lock",
                          "--save-exact", "--engine-strict=false", "--loglevel=error", package},
                 .directory = into,
                 .environment = {}});
  if (!ended && ended.error().kind == ErrorKind::not_found) {
    return Error{ErrorKind::not_found,
                 "npm is not in PATH: agent programs come from npm; install Node.js 20 or newer, which has it"};
  }
  if (!ended) return ended.error();
  if (ended.value().code != 0) return unavailable(complaint_of(program, ended.value()));
  return Unit{};
}

// One package keeps its program compressed. Its own script would unpack it, and put a copy and a configuration into
// $HOME besides; so node is only asked for what this takes.
Result<Unit> unpack(const harness::Program& program, const fs::path& into) {
  constexpr const char* script =
      "const fs = require('fs'), [from, to] = process.argv.slice(1);"
      "fs.writeFileSync(to, require('zlib').brotliDecompressSync(fs.readFileSync(from)), {mode: 0o755});"
      "fs.unlinkSync(from)";
  const fs::path binary = into / program.binary;
  const fs::path packed = binary.string() + ".br";
  if (fs::exists(binary) || !fs::exists(packed)) return Unit{};
  auto ended = run_child({.argv = {"node", "-e", script, packed, binary}, .directory = into, .environment = {}});
  if (!ended) return std::move(ended.error()).in("unpack " + std::string(program.package));
  if (ended.value().code == 0) return Unit{};
  return unavailable("unpack " + std::string(program.package) + ": node ended with " +
                     std::to_string(ended.value().code) + ": " +
                     std::string(last_line_with(ended.value().output, "Error: ")));
}

Result<Unit> verify(const harness::Program& program, const fs::path& in) {
  const auto text = read_small_file(in / "node_modules" / program.package / "package.json");
  const auto about = json::Document::parse(text && text.value() ? *text.value() : "");
  const auto version = about ? about.value().root().find("version") : std::nullopt;
  const std::string got(version ? version->string().value_or("") : "");
  const std::string package(program.package);
  if (got != program.version) {
    return unavailable("npm installed " + package + " " + (got.empty() ? "without a version" : got) +
                       ", and not the version " + std::string(program.version) + " that was asked for");
  }
  if (access((in / program.binary).c_str(), X_OK) == 0) return Unit{};
  return unavailable(package + " brought no program for this machine: " + std::string(program.binary) + " is missing");
}

// The replacement is atomic: a reader never sees half a program, nor none in place of the old one.
Result<Unit> put_in_place(const fs::path& part, const fs::path& place) {
  if (rename(part.c_str(), place.c_str()) == 0) return Unit{};
  if (renameat2(AT_FDCWD, part.c_str(), AT_FDCWD, place.c_str(), RENAME_EXCHANGE) != 0) {
    return unavailable("rename " + part.string() + " to " + place.string() + ": " + std::strerror(errno));
  }
  return workspace::remove_tree(part);
}

}  // namespace

bool is_exact_version(std::string_view text) {
  constexpr std::size_t chars_max = 64;
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto is_part = [&](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '-' || c == '+';
  };
  return text.size() <= chars_max && std::ranges::count(text, '.') >= 2 && is_digit(text.front()) &&
         std::ranges::all_of(text, is_part);
}

Result<Unit> install_program(const harness::Program& tested, const std::string& directory, std::string_view version) {
  harness::Program program = tested;
  if (!version.empty()) program.version = version;
  const OpenUmask open_umask;
  const fs::path place = fs::path(directory) / program.agent_type;
  const fs::path part = place.string() + ".part";
  const auto held = lock(directory);
  if (!held) return held.error();
  // What an install that was killed left.
  if (fs::exists(part)) {
    if (auto removed = workspace::remove_tree(part); !removed) return removed;
  }
  std::error_code error;
  if (!fs::create_directory(part, error)) return unavailable("make " + part.string() + ": " + error.message());
  const auto install = [&]() -> Result<Unit> {
    for (const auto step : {fetch, unpack, verify}) {
      if (auto done = step(program, part); !done) return done;
    }
    std::string record;
    json::Writer to(record);
    to.begin_object().key("agent_type").string(program.agent_type).key("package").string(program.package);
    to.key("version").string(program.version).end_object();
    std::ofstream file(part / program_record);
    if (!(file << record << "\n" << std::flush)) return unavailable("write " + (part / program_record).string());
    return put_in_place(part, place);
  };
  auto installed = install();
  if (!installed) {
    if (fs::exists(part)) (void)workspace::remove_tree(part);
  }
  return installed;
}

}  // namespace sluice::installation
