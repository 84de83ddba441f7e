// Pages that are part of the program (the console, the API reference), as they were packed when it was built.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace sluice::api {

struct Asset {
  std::string_view name;  // "index.html", "assets/console-ABCD.js"
  std::string_view type;  // of media
  std::string etag;
  SharedBytes plain;    // shared by all answers that wait to be read
  SharedBytes gzipped;  // the same; null where that is not shorter
};

class Assets final {
 public:
  // `pack` must outlive this: "NAME PLAIN_SIZE GZIPPED_SIZE\n" for each file, an empty line, then their bytes in that
  // order. None for an empty one.
  explicit Assets(std::string_view pack);

  const Asset* find(std::string_view name) const;

 private:
  std::vector<Asset> assets_;
};

}  // namespace sluice::api
