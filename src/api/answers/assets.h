// Files that are part of the program: the console's pages, the API reference, and the description of the API from which
// the reference was made.
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

// The console's pages as the build packed them; empty if the program was built without a console.
std::string_view console_pack();
// openapi/openapi.yaml.
std::string_view openapi_text();
// "index.html", and "policy", the Content-Security-Policy that it needs.
std::string_view reference_pack();

// Both as they are sent, made once per server.
struct Documents {
  Assets reference{reference_pack()};
  SharedBytes openapi = std::make_shared<const std::string>(openapi_text());
};

}  // namespace sluice::api
