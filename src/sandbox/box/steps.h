// Carries out the steps of a plan, one after the other, without opinions.
#pragma once

#include "sandbox/box/messages.h"

namespace sluice::sandbox::box {

struct Site {
  const char* tree = "";  // targets lie below it; "" is the root
  // Texts of files are put there and bound to their place, where the tree can no longer be written to; null: it can.
  const char* drawer = nullptr;
  // An empty directory: what is bound is seen through an overlay, so that its inodes are of this sandbox alone; null:
  // it is bound as it is.
  const char* empty = nullptr;
  bool is_mapped = true;  // in a user namespace, where the host's own mounts are not; for those overlays
};

// Reads a count and so many steps.
bool take_steps(Reader& steps, const Site& site, Trouble& trouble);

bool make_directories(char* path);  // all of it; `path` is written to and restored
bool write_file(const char* path, const char* text, std::size_t bytes);

}  // namespace sluice::sandbox::box
