// Recorded dialogues with agent programs: "> " before what the program was sent, "< " before what it printed.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "base/check.h"
#include "harness/dialect_makers.h"

namespace sluice::harness::dialogue_fixture {

using Kind = Heard::Kind;
using Lines = std::vector<std::string>;

inline std::filesystem::path recordings(const std::string& program) {
  return std::filesystem::path(__FILE__).parent_path() / "testdata" / program;
}

inline Lines recorded(const std::string& program, const std::string& name) {
  std::ifstream file(recordings(program) / (name + ".txt"));
  SLUICE_CHECK(file.good());
  Lines lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

inline Lines recorded_names(const std::string& program) {
  Lines names;
  for (const auto& entry : std::filesystem::directory_iterator(recordings(program)))
    names.push_back(entry.path().stem().string());
  return names;
}

// What the program printed, as its bytes.
inline std::string printed(const Lines& dialogue) {
  std::string bytes;
  for (const auto& line : dialogue)
    if (line.starts_with("< ")) bytes += line.substr(2) + "\n";
  return bytes;
}

// "running call_1 bash {…}", "ended call_1 failed: no", "usage 123/20".
inline std::string line_of(const Heard& heard) {
  static constexpr std::string_view names[] = {
      "session", "text",  "replaced",       "reasoning",      "began",      "piece",     "running",
      "output",  "ended", "subagent began", "subagent ended", "permission", "withdrawn", "host call",
      "log",     "usage", "custom",         "deferred",       "finished",   "failed"};
  std::string line(names[static_cast<std::size_t>(heard.kind)]);
  const auto add = [&](const std::string& word) { line += word.empty() ? "" : " " + word; };
  add(heard.call.id);
  add(heard.call.name);
  add(heard.call.arguments);
  if (heard.failed) line += " failed:";
  if (heard.kind == Kind::replaced) add(std::to_string(heard.kept_bytes));
  if (heard.kind == Kind::usage)
    add(std::to_string(heard.usage.input_tokens) + "/" + std::to_string(heard.usage.output_tokens));
  if (heard.kind == Kind::failed) add(std::string(model::entry_of(heard.slug).name));
  if (heard.kind == Kind::log) add(heard.level);
  add(heard.text);
  add(heard.json);
  if (!heard.subagent.empty()) add("of " + heard.subagent);
  return line;
}

// Listens to a program, and answers what it asks.
class Listener final {
 public:
  explicit Listener(const Assignment& assignment) : dialect_(make_dialect(assignment)) { send(dialect_->opening()); }

  void feed(std::string_view bytes) {
    hear(dialect_->feed(bytes));
    send(dialect_->take_output());
  }
  void end(std::string_view exit_words = "exit code 1", std::string_view stderr_tail = "") {
    hear(dialect_->end(exit_words, stderr_tail));
  }
  // Line by line, as it was: what is sent must be what was sent.
  void play(const Lines& dialogue) {
    for (const auto& line : dialogue) {
      if (line.starts_with("< ")) {
        feed(line.substr(2) + "\n");
        continue;
      }
      if (line.find("turn/interrupt") != line.npos || line.find("session/cancel") != line.npos) {
        dialect_->interrupt();
        send(dialect_->take_output());
      }
      ASSERT_FALSE(sent.empty()) << "was to be sent: " << line;
      EXPECT_EQ("> " + sent.front(), line);
      sent.pop_front();
    }
    EXPECT_EQ(sent, std::deque<std::string>()) << "more was sent than recorded";
  }

  // Pieces of one text are one line, so that it does not show where they were cut.
  Lines lines;
  std::deque<std::string> sent;
  Answer permission{Answer::Kind::allow};
  std::size_t ends = 0;  // finished, failed or deferred
  Dialect& dialect() { return *dialect_; }

 private:
  void hear(const std::vector<Heard>& news) {
    for (const auto& heard : news) {
      EXPECT_EQ(ends, 0U) << "after the end: " << line_of(heard);
      const bool is_piece = heard.kind == Kind::text || heard.kind == Kind::reasoning || heard.kind == Kind::call_piece;
      if (is_piece && last_.kind == heard.kind && last_.call.id == heard.call.id && last_.subagent == heard.subagent) {
        lines.back() += heard.text;
      } else {
        lines.push_back(line_of(heard));
      }
      last_ = heard;
      if (heard.kind == Kind::finished || heard.kind == Kind::failed || heard.kind == Kind::deferred) ++ends;
      if (heard.kind == Kind::permission) dialect_->answer(heard.question, permission);
      if (heard.kind == Kind::host_call) dialect_->answer(heard.question, {Answer::Kind::result, "host says 7"});
    }
  }
  void send(const std::string& bytes) {
    for (std::size_t at = 0; at < bytes.size();) {
      const auto newline = bytes.find('\n', at);
      SLUICE_CHECK(newline != bytes.npos);
      sent.push_back(bytes.substr(at, newline - at));
      at = newline + 1;
    }
  }

  std::unique_ptr<Dialect> dialect_;
  Heard last_;
};

inline Lines told_in_pieces(const Assignment& assignment, const Answer& permission, const std::string& bytes,
                            const std::function<std::size_t()>& next_size) {
  Listener listener(assignment);
  listener.permission = permission;
  for (std::size_t at = 0; at < bytes.size();) {
    const auto size = std::min(next_size(), bytes.size() - at);
    listener.feed(std::string_view(bytes).substr(at, size));
    at += size;
  }
  listener.end();
  // A program that waits for an answer does not withdraw its question in the same breath, as these bytes may.
  std::erase(listener.lines, "withdrawn");
  return listener.lines;
}

// The events are the same wherever the bytes are cut.
inline void expect_same_however_cut(const Assignment& assignment, const Answer& permission, const std::string& bytes) {
  const auto whole = told_in_pieces(assignment, permission, bytes, [&] { return bytes.size(); });
  EXPECT_EQ(told_in_pieces(assignment, permission, bytes, [] { return std::size_t{1}; }), whole);
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round)
    EXPECT_EQ(told_in_pieces(assignment, permission, bytes, [&] { return std::size_t{1} + random() % 700; }), whole);
}

// The listener gets exactly one end, whatever became of the bytes.
inline void expect_end_however_broken(const Assignment& assignment, const std::string& bytes) {
  std::mt19937 random(11);
  for (int round = 0; round < 200; ++round) {
    std::string broken = bytes.substr(0, round % 3 == 0 ? random() % (bytes.size() + 1) : bytes.size());
    for (std::size_t hit = 0; hit < 12 && !broken.empty(); ++hit)
      broken[random() % broken.size()] = "{}[]\":,0x\n\\\xff"[random() % 12];
    Listener listener(assignment);
    listener.feed(broken);
    listener.end();
    EXPECT_EQ(listener.ends, 1U);
  }
}

}  // namespace sluice::harness::dialogue_fixture
