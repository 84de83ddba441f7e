#include "workspace/news_gathering.h"

#include <utility>

#include "base/bytes.h"

namespace sluice::workspace {
namespace {

using Kind = FileNews::Kind;

// How many bytes of `text` are one character; 0 when they are none.
std::size_t character_bytes(std::string_view text) {
  for (std::size_t size = 1; size <= 4 && size <= text.size(); ++size) {
    if (is_utf8(text.substr(0, size))) return size;
  }
  return 0;
}

std::string in_utf8(std::string path) {
  if (is_utf8(path)) return path;
  std::string out;
  for (std::string_view rest = path; !rest.empty();) {
    const std::size_t size = character_bytes(rest);
    out += size == 0 ? "\xef\xbf\xbd" : rest.substr(0, size);
    rest.remove_prefix(size == 0 ? 1 : size);
  }
  return out;
}

}  // namespace

std::string_view FileNews::name() const {
  switch (kind) {
    case Kind::created: return "create";
    case Kind::changed: return "change";
    case Kind::deleted: return "delete";
    case Kind::overflow: return "overflow";
  }
  return "";
}

void NewsGathering::note(Kind kind, std::string path, int64_t since_us, int64_t now_us) {
  const auto known = latest_.find(path);
  if (known == latest_.end()) return append(kind, std::move(path), since_us);
  Pending& before = news_[known->second];
  if (!before.is_reported) return append(kind, std::move(path), since_us);
  switch (kind) {
    case Kind::created:
      if (before.kind == Kind::deleted) before.kind = Kind::changed;
      break;
    case Kind::changed:
      if (before.kind == Kind::deleted) before.kind = Kind::changed;
      break;
    case Kind::deleted:
      if (before.kind == Kind::changed) before.kind = Kind::deleted;
      if (before.kind != Kind::created) break;
      // Short-lived, or only read late? If that is unknown, both are.
      if (now_us - before.since_us > gather_us_) return append(kind, std::move(path), since_us);
      before.is_reported = false;
      break;
    case Kind::overflow: break;
  }
}

void NewsGathering::append(Kind kind, std::string path, int64_t since_us) {
  if (news_.size() >= paths_max_) return note_overflow();
  latest_[path] = news_.size();
  news_.push_back({.kind = kind, .path = std::move(path), .since_us = since_us});
}

void NewsGathering::note_overflow() {
  if (std::exchange(overflowed_, true)) return;
  news_.push_back({.kind = Kind::overflow});
}

std::vector<FileNews> NewsGathering::take() {
  std::vector<FileNews> out;
  for (auto& pending : news_) {
    if (pending.is_reported) out.push_back({.kind = pending.kind, .path = in_utf8(std::move(pending.path))});
  }
  news_.clear();
  latest_.clear();
  overflowed_ = false;
  return out;
}

}  // namespace sluice::workspace
