#include "bench/dialect.h"

namespace sluice::bench {
namespace {

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// Sluice, and what is made by hand to do the same: NDJSON or SSE lines that say their type near the beginning. What an
// answer says must not be mistaken for it.
class Sluice final : public Dialect {
 public:
  std::vector<Request> creation(int) const override { return {{"POST", "/v1/conversations", "{}"}}; }
  std::string_view id_mark() const override { return R"("id":")"; }
  Request message(int, const std::string& id, long, const std::string& content) const override {
    return {"POST", "/v1/conversations/" + id + "/messages", R"({"content":")" + content + R"("})"};
  }
  Line read(std::string_view line) const override {
    const auto head = line.substr(0, 80);
    if (has(head, "content_delta")) return Line::delta;
    return has(head, "message_end") ? Line::last : Line::event;
  }
};

// Told to go on when its caller leaves and to keep its stream: what Sluice always does.
class LangGraph final : public Dialect {
 public:
  std::vector<Request> creation(int) const override { return {{"POST", "/threads", "{}"}}; }
  std::string_view id_mark() const override { return R"("thread_id":")"; }
  Request message(int, const std::string& id, long, const std::string& content) const override {
    return {"POST", "/threads/" + id + "/runs/stream",
            R"({"assistant_id":"agent","input":{"messages":[{"role":"user","content":")" + content +
                R"("}]},"stream_mode":["messages-tuple"],"stream_resumable":true,"on_disconnect":"continue"})"};
  }
  Line read(std::string_view line) const override {
    if (line.starts_with(R"(data: [{"content")")) return Line::delta;
    return line.starts_with("data: ") ? Line::event : Line::other;
  }
  bool tells_end() const override { return false; }
};

// The answer comes when the turn is over; what happens meanwhile is told on one stream for everybody.
class OpenCode final : public Dialect {
 public:
  Feed feed() const override { return Feed::shared; }
  // With a title, or each first message would ask the model for one.
  std::vector<Request> creation(int) const override { return {{"POST", "/session", R"({"title":"bench"})"}}; }
  std::string_view id_mark() const override { return R"("id":")"; }
  Request message(int, const std::string& id, long, const std::string& content) const override {
    return {"POST", "/session/" + id + "/message",
            R"({"model":{"providerID":"bench","modelID":"instant"},"parts":[{"type":"text","text":")" + content +
                R"("}]})"};
  }
  Request listening(int) const override { return {"GET", "/event", ""}; }
  Line read(std::string_view line) const override {
    const auto head = line.substr(0, 90);
    if (has(head, R"("message.part.delta")")) return Line::delta;
    if (has(head, R"("session.idle")")) return Line::last;
    return has(head, R"("message.)") ? Line::event : Line::other;  // session.* also comes after the end
  }
  std::string_view conversation_of(std::string_view line) const override {
    constexpr std::string_view mark = R"("sessionID":")";
    const auto at = line.find(mark);
    if (at == std::string_view::npos) return {};
    const auto from = at + mark.size();
    return line.substr(from, line.find('"', from) - from);
  }
};

// sandbox-agent: JSON-RPC of the Agent Client Protocol, an agent process for each conversation.
class Acp final : public Dialect {
 public:
  Feed feed() const override { return Feed::own; }
  std::vector<Request> creation(int index) const override {
    return {
        {"POST", path(index) + "?agent=mock",
         R"({"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{}}})"},
        {"POST", path(index),
         R"({"jsonrpc":"2.0","id":"n","method":"session/new","params":{"cwd":"/tmp","mcpServers":[]}})"}};
  }
  std::string_view id_mark() const override { return R"("sessionId":")"; }
  Request message(int index, const std::string& id, long turn, const std::string& content) const override {
    return {"POST", path(index),
            R"({"jsonrpc":"2.0","id":)" + std::to_string(turn) +
                R"(,"method":"session/prompt","params":{"sessionId":")" + id +
                R"(","prompt":[{"type":"text","text":")" + content + R"("}]}})"};
  }
  Request listening(int index) const override { return {"GET", path(index), ""}; }
  Line read(std::string_view line) const override {
    if (has(line, R"("agent_message_chunk")")) return Line::delta;
    if (has(line, R"("stopReason")")) return Line::last;
    return has(line, R"("session/update")") ? Line::event : Line::other;
  }

 private:
  static std::string path(int index) { return "/v1/acp/bench-" + std::to_string(index); }
};

}  // namespace

std::unique_ptr<Dialect> make_dialect(std::string_view name) {
  if (name == "sluice") return std::make_unique<Sluice>();
  if (name == "langgraph") return std::make_unique<LangGraph>();
  if (name == "opencode") return std::make_unique<OpenCode>();
  if (name == "acp") return std::make_unique<Acp>();
  return nullptr;
}

}  // namespace sluice::bench
