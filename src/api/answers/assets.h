// Pages that are part of the program (the console, the API reference), as the build packed them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/request/request_context.h"
#include "base/bytes.h"

namespace sluice::api {

struct Asset {
  std::string_view name;  // "index.html", "assets/console-ABCD.js"
  std::string_view type;  // media type
  std::string etag;
  SharedBytes plain;    // shared by all answers in flight
  SharedBytes gzipped;  // shared, too; null if gzip does not make it smaller
};

class Assets final {
 public:
  // `pack` must outlive this: "NAME PLAIN_SIZE GZIPPED_SIZE\n" for each file, an empty line, then their bytes in that
  // order. An empty pack has no files.
  explicit Assets(std::string_view pack);

  const Asset* find(std::string_view name) const;

 private:
  std::vector<Asset> assets_;
};

// Answers with the asset, gzipped if the client accepts that, or with 304 if the client has it. `headers` are added,
// among them Cache-Control.
void answer_asset(const RequestPtr& request, const Asset& asset, net::Headers headers);

}  // namespace sluice::api
