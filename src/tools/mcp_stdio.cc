#include <utility>

#include "base/limits.h"
#include "runs/runs.h"
#include "sessions/sessions.h"
#include "tools/mcp_link.h"

namespace sluice::tools {
namespace {

constexpr std::size_t logged_bytes_max = 64 * 1024;
constexpr std::size_t logged_line_bytes_max = 2'000;

std::string words_of(const sandbox::Exit& exit) {
  auto words = exit.cause == sandbox::ExitCause::exited ? "it ended with exit code " + std::to_string(exit.code)
                                                        : "it ended: " + std::string(sandbox::name_of(exit.cause));
  if (!exit.what.empty()) words += " (" + runs::to_utf8(exit.what) + ")";
  return words;
}

class McpStdio final : public McpCarrier, private sandbox::ProcessListener {
 public:
  McpStdio(sessions::SandboxSession& session, const model::McpServer& server, Callback<void(std::string)> log,
           McpCarrierListener& listener)
      : log_(std::move(log)),
        listener_(listener),
        process_(
            session.start({.argv = server.command, .environment = server.environment, .keeps_input = true}, *this)) {}

  void send(mcp::Outgoing message, uint64_t) override {
    if (!process_) return;
    process_->write(message.message + "\n");
  }
  void leave(uint64_t) override {}
  void listen() override {}
  void agree_on(std::string_view) override {}

 private:
  void on_output(sandbox::Stream stream, std::string_view bytes) override {
    const auto alive = lifetime_.watch();
    auto& lines = stream == sandbox::Stream::out ? out_ : err_;
    for (const auto& line : lines.feed(bytes)) {
      stream == sandbox::Stream::out ? take(line) : note(line);
      if (alive.is_over()) return;
    }
    if (lines.held_bytes() <= limits::provider_line_bytes_max) return;
    // Chatter may be without line ends; of a message its end is needed.
    if (stream == sandbox::Stream::err) return lines.forget();
    process_.reset();
    listener_.on_mcp_unanswered(0, "it wrote a line without end");
  }
  void on_exit(sandbox::Exit exit) override {
    process_.reset();
    listener_.on_mcp_unanswered(0, words_of(exit));
  }

  // What is no message is chatter, though it should not be there.
  void take(const std::string& line) {
    const auto first = line.find_first_not_of(" \t");
    line[first] == '{' || line[first] == '[' ? listener_.on_mcp_message(line) : note(line);
  }
  void note(const std::string& line) {
    if (logged_bytes_ > logged_bytes_max) return;
    const auto text = runs::to_utf8(std::string_view(line).substr(0, logged_line_bytes_max));
    logged_bytes_ += text.size();
    log_(logged_bytes_ > logged_bytes_max ? "(more of it is not reported)" : text);
  }

  Callback<void(std::string)> log_;
  McpCarrierListener& listener_;
  runs::TextLines out_;
  runs::TextLines err_;
  std::size_t logged_bytes_ = 0;
  Lifetime lifetime_;
  std::unique_ptr<sandbox::Process> process_;
};

}  // namespace

std::unique_ptr<McpCarrier> start_mcp_stdio(sessions::SandboxSession& session, const model::McpServer& server,
                                            Callback<void(std::string)> log, McpCarrierListener& listener) {
  return std::make_unique<McpStdio>(session, server, std::move(log), listener);
}

}  // namespace sluice::tools
