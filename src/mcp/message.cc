#include "mcp/message.h"

#include "base/json.h"
#include "base/utf8.h"

namespace sluice::mcp {

std::string response(std::string_view id, std::string_view result) {
  std::string out;
  json::Writer(out)
      .begin_object()
      .key("jsonrpc")
      .string("2.0")
      .key("id")
      .raw(id)
      .key("result")
      .raw(result)
      .end_object();
  return out;
}

std::string error_response(std::string_view id, int64_t code, std::string_view words) {
  std::string out;
  json::Writer writer(out);
  writer.begin_object().key("jsonrpc").string("2.0").key("id").raw(id);
  writer.key("error").begin_object().key("code").integer(code).key("message").string(words).end_object();
  writer.end_object();
  return out;
}

std::string notification(std::string_view method, std::string_view params) {
  std::string out;
  json::Writer writer(out);
  writer.begin_object().key("jsonrpc").string("2.0").key("method").string(method).key("params").raw(params);
  writer.end_object();
  return out;
}

std::string cut(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return std::string(text);
  return std::string(text.substr(0, utf8_prefix_size(text, bytes_max))) + "…";
}

}  // namespace sluice::mcp
