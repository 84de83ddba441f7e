#include "harness/json_rpc.h"

#include "harness/complaint.h"
#include "harness/json_line.h"

namespace sluice::harness {
namespace {

constexpr std::size_t complaints_max = 32;
constexpr std::size_t shown_bytes_max = 200;
constexpr int64_t method_not_found = -32601;

}  // namespace

void JsonRpc::feed(std::string_view bytes, std::vector<Heard>& heard, const Visit& visit) {
  for (const std::string& line : lines_.feed(bytes))
    if (!read_line(line, heard, visit)) return;
  if (lines_.take_overlong()) complain("printed a line that is too long to be read", "", heard);
}

bool JsonRpc::read_line(const std::string& line, std::vector<Heard>& heard, const Visit& visit) {
  const auto document = parse_line(line);
  if (!document) {
    complain("printed a line that is not JSON", line, heard);
    return true;
  }
  const json::Value root = document.value().root();
  RpcMessage message;
  message.method = text_in(root, "method");
  const auto id = root.find("id");
  if (id && !id->is_null()) message.id = id->to_text();
  if (!message.method.empty()) {
    message.kind = message.id.empty() ? RpcMessage::Kind::notification : RpcMessage::Kind::request;
    message.body = value_in(root, "params");
  } else if (const auto error = root.find("error"); error && !error->is_null()) {
    message.kind = RpcMessage::Kind::error;
    message.body = *error;
  } else if (const auto result = root.find("result"); result && !message.id.empty()) {
    message.kind = RpcMessage::Kind::result;
    message.body = *result;
  } else {
    complain("printed a line that is no message of JSON-RPC", line, heard);
    return true;
  }
  return visit(message);
}

void JsonRpc::complain(std::string_view what, std::string_view line, std::vector<Heard>& heard) {
  if (++complaints_ > complaints_max) return;
  Heard& log = heard.emplace_back();
  log.level = "warn";
  log.text = "The program " + std::string(what);
  if (!line.empty()) log.text += ": " + plain_words(line.substr(0, shown_bytes_max));
  if (complaints_ == complaints_max) log.text += " (more of this kind is not reported)";
}

std::string JsonRpc::ask(std::string_view method, std::string_view params) {
  std::string id = std::to_string(++last_id_);
  write(id, method, "params", params);
  return id;
}

void JsonRpc::tell(std::string_view method, std::string_view params) { write("", method, "params", params); }

void JsonRpc::answer(std::string_view id, std::string_view result) { write(id, "", "result", result); }

void JsonRpc::refuse(std::string_view id, std::string_view method) {
  std::string error;
  json::Writer(error)
      .begin_object()
      .key("code")
      .integer(method_not_found)
      .key("message")
      .string("Method not found: " + std::string(method))
      .end_object();
  write(id, "", "error", error);
}

void JsonRpc::write(std::string_view id, std::string_view method, std::string_view name, std::string_view body) {
  json::Writer writer(output_);
  writer.begin_object();
  if (version_ == Version::named) writer.key("jsonrpc").string("2.0");
  if (!id.empty()) writer.key("id").raw(id);
  if (!method.empty()) writer.key("method").string(method);
  writer.key(name).raw(body).end_object();
  output_ += '\n';
}

}  // namespace sluice::harness
