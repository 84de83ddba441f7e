// Messages of the Model Context Protocol from a stranger: a program in a box as our client, a server somewhere as our
// server. Every answer is JSON and bounded, and nothing is heard of a call twice.
#include <algorithm>
#include <set>

#include "base/bytes.h"
#include "base/check.h"
#include "mcp/mcp.h"
#include "tests/fuzz/pieces.h"

using namespace sluice;

namespace {

void be_asked(std::string_view message) {
  static constexpr std::string_view schema = R"({"properties":{"q":{}}})";
  const mcp::Server server({}, {{.name = "lookup", .description = "", .parameters = std::string(schema)}});
  const auto incoming = server.take(message);
  if (incoming.kind == mcp::Incoming::Kind::answered) SLUICE_CHECK(bool(json::Document::parse(incoming.reply)));
  if (incoming.kind != mcp::Incoming::Kind::call) return;
  SLUICE_CHECK(incoming.tool == "lookup");
  const auto arguments = json::Document::parse(incoming.arguments);
  SLUICE_CHECK(bool(arguments) && arguments.value().root().kind() == json::Kind::object);
  SLUICE_CHECK(bool(json::Document::parse(mcp::reply_to_call(incoming.call_key, {.text = incoming.call_id}))));
  if (incoming.progress_token.empty()) return;
  SLUICE_CHECK(bool(json::Document::parse(mcp::progress_notice(incoming.progress_token, 1, incoming.call_id))));
}

// A line a message, as a program in the box says them.
void ask(std::string_view lines) {
  mcp::Client client("sluice");
  (void)client.begin();
  std::set<uint64_t> waiting;
  while (!lines.empty()) {
    const auto end = std::min(lines.find('\n'), lines.size());
    for (const auto& told : client.take(lines.substr(0, end))) {
      SLUICE_CHECK(is_utf8(told.text) && is_utf8(told.result.text));
      if (told.kind == mcp::FromServer::Kind::answer) SLUICE_CHECK(waiting.erase(told.number) == 1);
      if (told.kind != mcp::FromServer::Kind::ready) continue;
      for (const uint64_t number : {10, 11, 12}) {
        waiting.insert(number);
        SLUICE_CHECK(bool(json::Document::parse(client.call(number, "lookup", "{}").message)));
      }
      (void)client.cancel(12);
      waiting.erase(12);
    }
    for (const auto& out : client.take_output()) SLUICE_CHECK(bool(json::Document::parse(out.message)));
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  for (const auto& tool : client.tools()) {
    SLUICE_CHECK(mcp::joined_name("crm", tool.name).size() <= 64);
    SLUICE_CHECK(bool(json::Document::parse(tool.parameters)));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const auto text = fuzz::text_of(data, size);
  be_asked(text);
  ask(text);
  return 0;
}
