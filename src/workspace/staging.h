// A directory that is made beside its place and moved there when it is whole: a crash or a failure
// half-way leaves nothing under the name that others look for.
#pragma once

#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "workspace/workspace.h"

namespace sluice::workspace {

class Staging final {
 public:
  // `into` must not exist; its parent must. `conflict` if it does.
  static Result<Staging> begin(const std::string& into, Owner owner);
  Staging(Staging&& other) noexcept = default;
  Staging& operator=(Staging&& other) noexcept = delete;
  ~Staging();  // removes what was not finished

  int fd() const { return directory_.get(); }
  // On disk, and in its place.
  Result<Unit> finish();

 private:
  Staging(std::string into, std::string made, OwnedFd directory)
      : into_(std::move(into)), made_(std::move(made)), directory_(std::move(directory)) {}

  std::string into_;
  std::string made_;
  OwnedFd directory_;  // empty once finished, or moved from
};

}  // namespace sluice::workspace
