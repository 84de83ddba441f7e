// Recorded dialogues with Claude Code as short lines, which do not show where a text was cut.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include "base/check.h"
#include "harness/dialect_makers.h"

namespace sluice::harness::claude_fixture {

using Kind = Heard::Kind;
using Lines = std::vector<std::string>;

inline std::string recorded(const std::string& name) {
  const auto path = std::filesystem::path(__FILE__).parent_path() / "testdata" / "claude" / (name + ".txt");
  std::ifstream file(path);
  SLUICE_CHECK(file.good());
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

inline Assignment assignment() {
  Assignment assignment;
  assignment.agent_type = "claude-code";
  assignment.program = "/opt/harness/claude-code/claude";
  assignment.model = {"anthropic", "claude-opus-5-5", "https://api.anthropic.com", "{{secret:SLUICE_MODEL_KEY}}"};
  assignment.prompt = "go";
  return assignment;
}
inline Assignment asking(bool may_defer = false) {
  auto asks = assignment();
  asks.asks = true;
  asks.may_defer = may_defer;
  return asks;
}

inline std::string name_of(Kind kind) {
  static constexpr std::string_view names[] = {
      "session", "text",  "replaced",       "reasoning",      "began",      "piece",     "running",
      "output",  "ended", "subagent began", "subagent ended", "permission", "withdrawn", "host call",
      "log",     "usage", "custom",         "deferred",       "finished",   "failed"};
  return std::string(names[static_cast<std::size_t>(kind)]);
}

// "running toolu_1 Bash {…}", "ended toolu_1 failed: no", "usage 123/20"; with " of ID" when it is a subagent's.
inline std::string line_of(const Heard& heard) {
  std::string line = name_of(heard.kind);
  const auto add = [&](const std::string& word) { line += word.empty() ? "" : " " + word; };
  add(heard.call.id);
  add(heard.call.name);
  add(heard.call.arguments);
  if (heard.failed) line += " failed:";
  if (heard.kind == Kind::replaced) add(std::to_string(heard.kept_bytes));
  if (heard.kind == Kind::usage) {
    add(std::to_string(heard.usage.input_tokens) + "/" + std::to_string(heard.usage.output_tokens));
  }
  if (heard.kind == Kind::failed) add(std::string(model::entry_of(heard.slug).name));
  add(heard.text);
  add(heard.json);
  if (heard.question != 0) add("#" + std::to_string(heard.question));
  if (!heard.subagent.empty()) add("of " + heard.subagent);
  return line;
}

// Listens to a program, and answers what it asks.
class Listener {
 public:
  explicit Listener(const Assignment& assignment) : dialect(make_claude(assignment)) { output = dialect->opening(); }

  void hear(const std::vector<Heard>& news) {
    for (const auto& heard : news) {
      EXPECT_FALSE(is_over) << line_of(heard);
      const bool is_piece = heard.kind == Kind::text || heard.kind == Kind::reasoning || heard.kind == Kind::call_piece;
      const bool goes_on = is_piece && last.kind == heard.kind && last.call.id == heard.call.id &&
                           last.subagent == heard.subagent && heard.subagent.empty();
      if (goes_on) {
        lines.back() += heard.text;
      } else {
        lines.push_back(line_of(heard));
      }
      last = heard;
      is_over = heard.kind == Kind::finished || heard.kind == Kind::failed || heard.kind == Kind::deferred;
      if (heard.question != 0 && answers) dialect->answer(heard.question, answers(heard));
    }
    output += dialect->take_output();
  }
  void feed(std::string_view bytes) { hear(dialect->feed(bytes)); }
  // A program waits for an answer before it says what follows from it.
  void feed_lines(const std::string& bytes) {
    std::istringstream lines_in(bytes);
    for (std::string line; std::getline(lines_in, line);) feed(line + "\n");
  }
  void end(std::string_view exit_words = "exit code 0", std::string_view stderr_tail = "") {
    hear(dialect->end(exit_words, stderr_tail));
  }
  // The lines of one kind.
  Lines lines_of(std::string_view kind) const {
    Lines found;
    for (const auto& line : lines) {
      if (line.starts_with(kind)) found.push_back(line);
    }
    return found;
  }

  std::unique_ptr<Dialect> dialect;
  std::function<Answer(const Heard&)> answers = [](const Heard& heard) {
    return heard.kind == Kind::host_call ? Answer{Answer::Kind::result, "host answer"} : Answer{Answer::Kind::allow};
  };
  Lines lines;
  std::string output;
  Heard last;
  bool is_over = false;
};

}  // namespace sluice::harness::claude_fixture
