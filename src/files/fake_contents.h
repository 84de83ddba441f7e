// Contents in memory, which can run out of room.
#pragma once

#include <map>

#include "base/bytes.h"
#include "base/digest.h"
#include "files/files.h"

namespace sluice::files {

class FakeContents final : public Contents {
 public:
  Result<std::string> put(std::string_view bytes) override {
    if (full) return Error{ErrorKind::overloaded, "the disk is full"};
    auto name = to_hex(sha256(bytes));
    kept.insert_or_assign(name, std::string(bytes));
    return name;
  }
  Result<Content> open(std::string_view sha256) const override {
    const auto found = kept.find(std::string(sha256));
    if (found == kept.end()) return Error{ErrorKind::not_found, "no such content"};
    const auto bytes = std::make_shared<const std::string>(found->second);
    return Content{bytes, *bytes};
  }

  std::map<std::string, std::string> kept;
  bool full = false;
};

}  // namespace sluice::files
