// What the workspace of a session is given from outside: skills and uploaded files.
#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/bytes.h"
#include "base/digest.h"
#include "sessions/session_core.h"

namespace sluice::sessions {
namespace {

namespace fs = std::filesystem;

constexpr int64_t write_ms_max = 120'000;
constexpr std::size_t file_words_chars_max = 500;
constexpr std::string_view no_source = "its source is not connected";

// ── skills ──
// Name and digest become parts of paths.
bool is_digest(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}
bool is_skill_name(std::string_view text) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyz0123456789-_";
  return !text.empty() && text.size() <= 64 && text.find_first_not_of(plain) == std::string_view::npos &&
         text[0] != '-' && text[0] != '_';
}

Result<Unit> unpack_to(const std::string& directory, const std::string& draft, std::string_view bundle,
                       workspace::Owner owner) {
  auto files = workspace::read_bundle(bundle, {});
  if (!files) return std::move(files.error());
  std::error_code error;
  fs::create_directories(fs::path(directory).parent_path(), error);
  if (error) return Error{ErrorKind::unavailable, error.message()};
  if (auto written = workspace::write_files(files.value(), draft, owner); !written) return written;
  fs::rename(draft, directory, error);
  if (!error) return Unit{};
  // Another dispatch was quicker: the same digest, so the same files.
  (void)workspace::remove_tree(draft);
  if (fs::is_directory(directory)) return Unit{};
  return Error{ErrorKind::unavailable, error.message()};
}

// Into a draft of this run's own, which is renamed when it is complete: a crash leaves no half of a skill under its
// digest, and two runs that need the same one do not write to one place.
Task<Result<Unit>> unpack(SessionCore& core, const dispatch::SkillUse& skill, std::string directory) {
  if (!core.dispatch.supplies) co_return Error{ErrorKind::unavailable, std::string(no_source)};
  auto bundle = co_await answer<Result<std::string>>(
      [&](auto done) { core.dispatch.supplies->skill_bundle(skill, std::move(done)); });
  if (!bundle) co_return Error{bundle.error().kind, "its bundle cannot be had: " + bundle.error().what};
  const auto& options = core.host.options;
  co_return co_await file_job<Unit>(
      core.file_workers(), "unpacking its bundle",
      [directory, digest = skill.sha256, draft = directory + "." + core.dispatch.run.text() + ".part",
       bundle = std::move(bundle).take(),
       owner = workspace::Owner{options.owner_uid, options.owner_uid}](const std::stop_token& stop) -> Result<Unit> {
        if (stop.stop_requested()) return Unit{};
        if (to_hex(sha256(bundle)) != digest) {
          return Error{ErrorKind::corrupt, "its bundle is not the one that was announced: the SHA-256 differs"};
        }
        return unpack_to(directory, draft, bundle, owner);
      });
}

// Where the skill lies.
Task<Result<std::string>> lay_out(SessionCore& core, const dispatch::SkillUse& skill,
                                  const std::vector<sandbox::Bind>& others) {
  if (!is_skill_name(skill.name)) co_return Error{ErrorKind::invalid, "its name cannot be a directory's"};
  if (!is_digest(skill.sha256)) {
    co_return Error{ErrorKind::invalid, "its digest is not a SHA-256 in hexadecimal digits"};
  }
  if (std::ranges::find(others, "/skills/" + skill.name, &sandbox::Bind::to) != others.end()) {
    co_return Error{ErrorKind::invalid, "another skill has the same name"};
  }
  auto directory = core.host.options.state_dir + "/skills/" + skill.sha256;
  const auto is_there = co_await file_job<bool>(core.file_workers(), "looking for its files",
                                                [directory](const std::stop_token&) -> Result<bool> {
                                                  std::error_code error;
                                                  return fs::is_directory(directory, error);
                                                });
  if (!is_there) co_return is_there.error();
  if (!is_there.value()) {
    if (auto unpacked = co_await unpack(core, skill, directory); !unpacked) co_return std::move(unpacked.error());
  }
  co_return directory;
}

// ── files ──
// It becomes the last part of a path.
bool is_file_name(std::string_view name) {
  return !name.empty() && name.size() <= 255 && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\0", 2)) == std::string_view::npos;
}

Error unusable(std::string why) { return {ErrorKind::unavailable, std::move(why)}; }

Task<Result<Unit>> upload(SessionCore& core, const dispatch::FileUse& file) {
  if (!is_file_name(file.name)) co_return unusable("its name cannot be a file's");
  if (!core.dispatch.supplies) co_return unusable(std::string(no_source));
  auto bytes =
      co_await answer<Result<std::string>>([&](auto done) { core.dispatch.supplies->file(file, std::move(done)); });
  if (!bytes) co_return std::move(bytes.error());
  const auto shared = std::make_shared<std::string>(std::move(bytes).take());  // with the worker that checks it
  // On a worker: hashing a large file would hold up all other runs.
  const auto is_it = co_await file_job<bool>(core.file_workers(), "checking it",
                                             [shared, digest = file.sha256](const std::stop_token&) -> Result<bool> {
                                               return to_hex(sha256(*shared)) == digest;
                                             });
  if (!is_it) co_return is_it.error();
  if (!is_it.value()) co_return unusable("it is not the one that was announced: the SHA-256 differs");
  const auto path = std::string(attachments_directory) + "/" + file.name;
  const auto written =
      co_await core.run_to_end({.argv = {"@write", path}, .input = std::move(*shared), .timeout_ms = write_ms_max},
                               {.kept_chars_max = file_words_chars_max});
  const auto& exit = written.exit;
  if (exit.cause != sandbox::ExitCause::exited) {
    co_return unusable(exit.what.empty() ? "the sandbox is gone" : exit.what);
  }
  if (exit.code != 0) co_return unusable(written.printed.substr(0, file_words_chars_max));
  co_return Unit{};
}

}  // namespace

Task<Outcome> lay_out_skills(SessionCore& core) {
  const auto& skills = core.dispatch.materials.skills;
  if (skills.empty()) co_return std::nullopt;
  std::vector<sandbox::Bind> binds;
  for (const auto& skill : skills) {
    auto directory = co_await lay_out(core, skill, binds);
    if (!directory) {
      co_return SessionFailure{model::Slug::skill_failed,
                               "The skill \"" + skill.name + "\" cannot be used: " + directory.error().what + "."};
    }
    binds.push_back({.from = std::move(directory).take(), .to = "/skills/" + skill.name});
  }
  core.skills = std::move(binds);
  const auto count = std::to_string(skills.size());
  co_await core.end_phase("skills", "Laid out " + count + (skills.size() == 1 ? " skill." : " skills."));
  co_return std::nullopt;
}

Task<Outcome> upload_files(SessionCore& core) {
  for (const auto& file : core.dispatch.materials.files) {
    const auto uploaded = co_await upload(core, file);
    if (!uploaded) {
      co_return sandbox_failed("The file \"" + file.name +
                               "\" cannot be put into the sandbox: " + uploaded.error().what + ".");
    }
  }
  co_return std::nullopt;
}

}  // namespace sluice::sessions
