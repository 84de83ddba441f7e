// Agent programs that say anything: every dialect tells the end exactly once and nothing after it, its session and that
// a call runs at most once, begins calls before it ends them, takes back no more than it told, and tells the same
// however the bytes are cut.
#include <set>
#include <utility>

#include "base/bytes.h"
#include "base/check.h"
#include "base/json.h"
#include "harness/harness.h"
#include "tests/fuzz/pieces.h"

using namespace sluice;
using harness::Answer;
using harness::Heard;
using Kind = Heard::Kind;

namespace {

class Listener {
 public:
  explicit Listener(const harness::Assignment& assignment) : dialect_(harness::make_dialect(assignment)) {
    check_lines(dialect_->opening());
  }

  void feed(std::string_view bytes) { hear(dialect_->feed(bytes)); }
  void end() {
    hear(dialect_->end("exit code 1", "its last words"));
    SLUICE_CHECK(is_over_);
    hear(dialect_->end("exit code 1", "its last words"));
  }

  std::string text;

 private:
  void hear(const std::vector<Heard>& news) {
    for (const auto& heard : news) hear(heard);
    check_lines(dialect_->take_output());
  }

  void hear(const Heard& heard) {
    SLUICE_CHECK(is_utf8(heard.text) && is_utf8(heard.call.name));
    SLUICE_CHECK(!is_over_);
    is_over_ = heard.kind == Kind::finished || heard.kind == Kind::failed || heard.kind == Kind::deferred;
    if (heard.subagent.empty() && heard.kind == Kind::text) text += heard.text;
    if (heard.kind == Kind::replaced) {
      SLUICE_CHECK(heard.kept_bytes <= text.size());
      text.resize(heard.kept_bytes);
    }
    if (heard.kind == Kind::session) SLUICE_CHECK(!std::exchange(has_session_, true));
    if (heard.kind == Kind::call_running) {
      SLUICE_CHECK(json::Document::parse(heard.call.arguments));
      SLUICE_CHECK(began_.insert(heard.call.id).second);
      runs_.insert(heard.call.id);
    }
    if (heard.kind == Kind::call_ended) SLUICE_CHECK(runs_.erase(heard.call.id) == 1);
    if (heard.kind != Kind::permission && heard.kind != Kind::host_call) return;
    SLUICE_CHECK(heard.question != 0);
    const auto kind = heard.kind == Kind::host_call ? Answer::Kind::result : Answer::Kind(heard.question % 3);
    dialect_->answer(heard.question, {kind, heard.call.arguments});
  }

  // What is written is JSON in lines.
  static void check_lines(std::string_view output) {
    while (!output.empty()) {
      const auto newline = output.find('\n');
      SLUICE_CHECK(newline != output.npos);
      SLUICE_CHECK(json::Document::parse(output.substr(0, newline)));
      output.remove_prefix(newline + 1);
    }
  }

  std::unique_ptr<harness::Dialect> dialect_;
  std::set<std::string> began_, runs_;  // ids of calls
  bool has_session_ = false;
  bool is_over_ = false;
};

harness::Assignment assignment_of(uint8_t choice) {
  static constexpr std::string_view types[] = {"claude-code", "codex", "opencode", "grok-build", "acp"};
  harness::Assignment assignment;
  assignment.agent_type = types[choice % std::size(types)];
  assignment.command = {"agent"};
  assignment.program = "/opt/harness/agent";
  assignment.prompt = "go";
  assignment.asks = (choice & 0x40) != 0;
  assignment.may_defer = (choice & 0x80) != 0;
  assignment.tools = {{"lookup", "Looks it up.", "{}"}};
  return assignment;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto assignment = assignment_of(data[0]);
  const auto bytes = fuzz::text_of(data + 1, size - 1);
  Listener whole(assignment);
  whole.feed(bytes);
  whole.end();
  Listener cut(assignment);
  fuzz::each_piece(bytes, [&](std::string_view piece) { cut.feed(piece); });
  cut.end();
  SLUICE_CHECK(whole.text == cut.text);
  return 0;
}
