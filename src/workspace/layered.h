// One directory as several layers make it, read as overlayfs reads them.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "workspace/workspace.h"

namespace sluice::workspace {

class LayeredDirectory final {
 public:
  enum class Kind : uint8_t { none, hidden, file, link, directory, other };
  struct Entry {
    Kind kind = Kind::none;
    int directory = -1;  // the layer's directory that has it
    struct stat about{};
  };

  LayeredDirectory() = default;  // without a tree: it is empty
  static Result<LayeredDirectory> open(const Layers& layers);
  static Result<LayeredDirectory> open(int directory);
  // `directory` on top of the layers.
  static Result<LayeredDirectory> open(int directory, const Layers& layers);

  // The names in it, those that it hides among them; sorted. Empty with errno set.
  std::optional<std::vector<std::string>> names(std::size_t names_max) const;
  // What a name is: the topmost layer that knows it decides.
  Entry find(const std::string& name) const;
  // The directory that an entry of this kind is. Empty with errno set.
  std::optional<LayeredDirectory> enter(const std::string& name) const;

  // Nothing of that name below these layers may be seen through.
  bool is_opaque() const { return opaque_; }
  // Of the topmost layer; undefined without a tree.
  int top() const { return parts_.front().get(); }
  bool is_nobodys() const { return parts_.empty(); }

 private:
  // False when what is below `part` is hidden by it.
  bool add(OwnedFd part);
  Result<Unit> add(const Layers& layers);

  std::vector<OwnedFd> parts_;  // topmost first
  bool opaque_ = false;
};

}  // namespace sluice::workspace
