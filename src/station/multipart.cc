#include "station/multipart.h"

#include <utility>

#include "base/json.h"

namespace sluice::station {

http::Multipart multipart_of(const std::vector<harness::Asset>& assets, std::string_view result, std::string boundary) {
  std::string message;
  json::Writer(message).begin_object().key("message").string(result).end_object();
  std::vector<http::Part> parts;
  for (const auto& asset : assets) {
    parts.push_back({"files", asset.name, "application/octet-stream", asset.bytes});
  }
  parts.push_back({"result", std::nullopt, "application/json", message});
  return http::write_multipart(parts, std::move(boundary));
}

}  // namespace sluice::station
