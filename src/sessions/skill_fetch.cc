#include "sessions/skill_fetch.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/bytes.h"
#include "base/digest.h"

namespace sluice::sessions {
namespace {

namespace fs = std::filesystem;

// Both become parts of paths.
bool is_digest(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}
bool is_name(std::string_view text) {
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

}  // namespace

SkillFetch::SkillFetch(Plan plan, const dispatch::Dispatch& dispatch, world::Workers& workers, world::Loop& loop,
                       Callback<void(Result<std::vector<sandbox::Bind>>)> done)
    : plan_(std::move(plan)),
      dispatch_(dispatch),
      workers_(workers),
      done_(std::move(done)),
      file_work_(loop, plan_.step_ms_max) {
  loop.defer([this, alive = lifeline_.watch()] {
    if (!alive.expired()) next();
  });
}

void SkillFetch::next() {
  const auto& skills = dispatch_.materials.skills;
  if (binds_.size() == skills.size()) return finish(std::move(binds_));
  const auto& skill = skills[binds_.size()];
  if (!is_name(skill.name)) return fail(skill, "its name cannot be a directory's");
  if (!is_digest(skill.sha256)) return fail(skill, "its digest is not a SHA-256 in hexadecimal digits");
  if (std::ranges::find(binds_, "/skills/" + skill.name, &sandbox::Bind::to) != binds_.end()) {
    return fail(skill, "another skill has the same name");
  }
  look_up(skill);
}

void SkillFetch::look_up(const dispatch::SkillUse& skill) {
  file_work_.send<bool>(
      workers_, "looking for its files",
      [directory = plan_.bundles_dir + "/" + skill.sha256](const std::stop_token&) -> Result<bool> {
        std::error_code error;
        return fs::is_directory(directory, error);
      },
      [this, &skill](Result<bool> is_there) {
        if (!is_there) return fail(skill, is_there.error().what);
        is_there.value() ? take(skill) : fetch(skill);
      });
}

void SkillFetch::fetch(const dispatch::SkillUse& skill) {
  if (!dispatch_.supplies) return fail(skill, "there is nobody to get its bundle from");
  dispatch_.supplies->skill_bundle(skill, [this, &skill, alive = lifeline_.watch()](Result<std::string> bundle) {
    if (alive.expired()) return;
    if (!bundle) return fail(skill, "its bundle cannot be had: " + bundle.error().what);
    unpack(skill, std::move(bundle).take());
  });
}

void SkillFetch::unpack(const dispatch::SkillUse& skill, std::string bundle) {
  const auto directory = plan_.bundles_dir + "/" + skill.sha256;
  file_work_.send<Unit>(
      workers_, "unpacking its bundle",
      [directory, digest = skill.sha256, draft = directory + "." + plan_.mark + ".part", bundle = std::move(bundle),
       owner = plan_.owner](const std::stop_token& stop) -> Result<Unit> {
        if (stop.stop_requested()) return Unit{};
        if (to_hex(sha256(bundle)) != digest) {
          return Error{ErrorKind::corrupt, "its bundle is not the one that was announced: the SHA-256 differs"};
        }
        return unpack_to(directory, draft, bundle, owner);
      },
      [this, &skill](Result<Unit> unpacked) { unpacked ? take(skill) : fail(skill, unpacked.error().what); });
}

void SkillFetch::take(const dispatch::SkillUse& skill) {
  binds_.push_back({.from = plan_.bundles_dir + "/" + skill.sha256, .to = "/skills/" + skill.name});
  next();
}

void SkillFetch::fail(const dispatch::SkillUse& skill, const std::string& why) {
  finish(Error{ErrorKind::invalid, "The skill \"" + skill.name + "\" cannot be used: " + why + "."});
}

// The callback may drop this.
void SkillFetch::finish(Result<std::vector<sandbox::Bind>> binds) {
  auto done = std::move(done_);
  done(std::move(binds));
}

}  // namespace sluice::sessions
