#include "workspace/layered.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

#include "workspace/beneath.h"

namespace sluice::workspace {
namespace {

LayeredDirectory::Kind kind_of(const struct stat& about) {
  using Kind = LayeredDirectory::Kind;
  if (S_ISREG(about.st_mode)) return Kind::file;
  if (S_ISDIR(about.st_mode)) return Kind::directory;
  if (S_ISLNK(about.st_mode)) return Kind::link;
  return is_whiteout(about) ? Kind::hidden : Kind::other;
}

}  // namespace

Result<LayeredDirectory> LayeredDirectory::open(const Layers& layers) {
  LayeredDirectory out;
  if (auto added = out.add(layers); !added) return std::move(added.error());
  return out;
}

Result<LayeredDirectory> LayeredDirectory::open(int directory) { return open(directory, {}); }

Result<LayeredDirectory> LayeredDirectory::open(int directory, const Layers& layers) {
  LayeredDirectory out;
  OwnedFd part = open_directory_beneath(directory, ".");
  if (!part) return failed("open the changes");
  if (!out.add(std::move(part))) return out;
  if (auto added = out.add(layers); !added) return std::move(added.error());
  return out;
}

Result<Unit> LayeredDirectory::add(const Layers& layers) {
  for (const auto& path : layers) {
    OwnedFd part(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!part) return failed("open the layer " + path);
    if (!add(std::move(part))) break;
  }
  return Unit{};
}

bool LayeredDirectory::add(OwnedFd part) {
  opaque_ = workspace::is_opaque(part.get());
  parts_.push_back(std::move(part));
  return !opaque_;
}

std::optional<std::vector<std::string>> LayeredDirectory::names(std::size_t names_max) const {
  std::vector<std::string> all;
  for (const auto& part : parts_) {
    auto names = list_names(part.get(), names_max);
    if (!names) return std::nullopt;
    all.insert(all.end(), std::make_move_iterator(names->begin()), std::make_move_iterator(names->end()));
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  if (all.size() > names_max) return errno = E2BIG, std::nullopt;
  return all;
}

LayeredDirectory::Entry LayeredDirectory::find(const std::string& name) const {
  for (const auto& part : parts_) {
    if (const auto about = stat_beneath(part.get(), name)) {
      return {.kind = kind_of(*about), .directory = part.get(), .about = *about};
    }
  }
  return {};
}

std::optional<LayeredDirectory> LayeredDirectory::enter(const std::string& name) const {
  LayeredDirectory out;
  for (const auto& part : parts_) {
    const auto about = stat_beneath(part.get(), name);
    if (!about) continue;
    if (!S_ISDIR(about->st_mode)) {  // a file or a whiteout hides what is below it as well
      out.opaque_ = true;
      break;
    }
    OwnedFd next = open_directory_beneath(part.get(), name);
    if (!next) return std::nullopt;
    if (!out.add(std::move(next))) break;
  }
  if (out.parts_.empty()) return errno = ENOTDIR, std::nullopt;
  return out;
}

}  // namespace sluice::workspace
