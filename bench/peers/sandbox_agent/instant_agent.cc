// An agent that speaks ACP on its standard streams and answers at once: `tokens N [RATE]` are N chunks, anything else
// is one chunk and then silence. For servers that put agent programs behind HTTP; it trusts them, and reads no more of
// their JSON than it must.
#include <poll.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <iostream>
#include <string>

namespace {

double now_ms() {
  timespec at{};
  clock_gettime(CLOCK_MONOTONIC, &at);
  return static_cast<double>(at.tv_sec) * 1e3 + static_cast<double>(at.tv_nsec) / 1e6;
}

// The value behind "name":, as it stands.
std::string value_of(const std::string& line, const std::string& name) {
  const auto mark = line.find("\"" + name + "\":");
  if (mark == std::string::npos) return "";
  const auto from = mark + name.size() + 3;
  const auto until = line[from] == '"' ? line.find('"', from + 1) + 1 : line.find_first_of(",}", from);
  return line.substr(from, until - from);
}

void answer(const std::string& id, const std::string& result) {
  std::printf(R"({"jsonrpc":"2.0","id":%s,"result":%s})"
              "\n",
              id.c_str(), result.c_str());
  std::fflush(stdout);
}

void tell(const std::string& session, const std::string& text) {
  std::printf(R"({"jsonrpc":"2.0","method":"session/update","params":{"sessionId":%s,"update":)"
              R"({"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%s"}}}})"
              "\n",
              session.c_str(), text.c_str());
  std::fflush(stdout);
}

void prompt(const std::string& line) {
  const std::string session = value_of(line, "sessionId");
  int count = 0, rate = 0;
  const auto at = line.find("tokens ");
  if (at == std::string::npos) return tell(session, "w1");
  std::sscanf(line.c_str() + at, "tokens %d %d", &count, &rate);
  const double began = now_ms();
  for (int i = 1; i <= count; ++i) {
    if (rate > 0) poll(nullptr, 0, std::max(0, static_cast<int>(began + (i - 1) * 1e3 / rate - now_ms())));
    tell(session, "w" + std::to_string(i) + (i < count ? " " : ""));
  }
  answer(value_of(line, "id"), R"({"stopReason":"end_turn"})");
}

}  // namespace

int main() {
  std::string line;
  while (std::getline(std::cin, line)) {
    const std::string method = value_of(line, "method"), id = value_of(line, "id");
    if (method == R"("session/prompt")") {
      prompt(line);
    } else if (method == R"("session/new")") {
      answer(id, R"({"sessionId":"instant"})");
    } else if (method == R"("initialize")") {
      answer(id, R"({"protocolVersion":1,"agentCapabilities":{},"authMethods":[]})");
    } else if (!id.empty()) {
      answer(id, "{}");
    }
  }
}
