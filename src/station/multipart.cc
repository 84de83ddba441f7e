#include "station/multipart.h"

#include <algorithm>

#include "base/json.h"

namespace sluice::station {
namespace {

// As browsers do: these three would end the parameter or the header.
std::string in_quotes(std::string_view name) {
  std::string out = "\"";
  for (const char c : name) {
    switch (c) {
      case '"': out += "%22"; break;
      case '\r': out += "%0D"; break;
      case '\n': out += "%0A"; break;
      default: out += c;
    }
  }
  return out + "\"";
}

}  // namespace

Multipart multipart_of(const std::vector<harness::Asset>& assets, std::string_view result, std::string boundary) {
  std::string message;
  json::Writer(message).begin_object().key("message").string(result).end_object();
  const auto stands_in = [&](const std::string& text) { return text.find("--" + boundary) != std::string::npos; };
  while (stands_in(message) || std::ranges::any_of(assets, stands_in, &harness::Asset::bytes)) boundary += 'x';

  Multipart made{.content_type = "multipart/form-data; boundary=" + boundary};
  auto& out = made.body;
  for (const auto& asset : assets) {
    out.append("--").append(boundary).append("\r\nContent-Disposition: form-data; name=\"files\"; filename=");
    out.append(in_quotes(asset.name)).append("\r\nContent-Type: application/octet-stream\r\n\r\n");
    out.append(asset.bytes).append("\r\n");
  }
  out.append("--").append(boundary).append("\r\nContent-Disposition: form-data; name=\"result\"\r\n");
  out.append("Content-Type: application/json\r\n\r\n").append(message);
  out.append("\r\n--").append(boundary).append("--\r\n");
  return made;
}

}  // namespace sluice::station
