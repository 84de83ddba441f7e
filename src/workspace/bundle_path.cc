#include "workspace/bundle_path.h"

#include <climits>

#include "base/bytes.h"
#include "workspace/beneath.h"

namespace sluice::workspace {
namespace {

Error invalid(std::string what) { return {ErrorKind::invalid, std::move(what)}; }

bool has_control_character(std::string_view text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return true;
  }
  return false;
}

}  // namespace

Result<Unit> BundlePaths::check_words(const std::string& path) const {
  const std::string said = "the bundle's path \"" + shown(path) + "\" ";
  if (path.empty()) return invalid("the bundle has a file without a name");
  if (path.size() > limits_.path_bytes_max) {
    return invalid(said + "is longer than " + std::to_string(limits_.path_bytes_max) + " bytes");
  }
  if (!is_utf8(path)) return invalid(said + "is not UTF-8");
  if (has_control_character(path)) return invalid(said + "has a control character");
  if (path.front() == '/') return invalid(said + "is absolute; paths are relative to the bundle");
  std::size_t at = 0;
  while (at <= path.size()) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    const std::string_view part = std::string_view(path).substr(at, end - at);
    if (part.empty()) return invalid(said + "has an empty part");
    if (part == "." || part == "..") return invalid(said + "has a part \"" + std::string(part) + "\"");
    if (part.size() > NAME_MAX) return invalid(said + "has a part longer than " + std::to_string(NAME_MAX) + " bytes");
    at = end + 1;
  }
  return Unit{};
}

Result<Unit> BundlePaths::add_parents(const std::string& path) {
  for (std::size_t at = path.find('/'); at != std::string::npos; at = path.find('/', at + 1)) {
    const auto parent = path.substr(0, at);
    if (known_.try_emplace(parent, Kind::directory).first->second == Kind::file) {
      return invalid("the bundle has \"" + shown(parent) + "\" as a file and as a directory");
    }
  }
  return Unit{};
}

Result<Unit> BundlePaths::add_file(const std::string& path) {
  if (auto sound = check_words(path); !sound) return sound;
  if (auto added = add_parents(path); !added) return added;
  const auto [at, fresh] = known_.try_emplace(path, Kind::file);
  if (fresh) return Unit{};
  if (at->second == Kind::file) return invalid("the bundle has \"" + shown(path) + "\" twice");
  return invalid("the bundle has \"" + shown(path) + "\" as a file and as a directory");
}

Result<Unit> BundlePaths::add_directory(const std::string& path) {
  if (auto sound = check_words(path); !sound) return sound;
  if (auto added = add_parents(path + "/"); !added) return added;
  return Unit{};
}

}  // namespace sluice::workspace
