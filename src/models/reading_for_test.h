// How the tests read an answer: whole, split everywhere, cut short, and said in one string.
#pragma once

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "models/models.h"

namespace sluice::models {

inline std::string_view name_of(FailureClass failure) {
  switch (failure) {
    case FailureClass::rate_limited: return "rate_limited";
    case FailureClass::overloaded: return "overloaded";
    case FailureClass::server_error: return "server_error";
    case FailureClass::unauthorized: return "unauthorized";
    case FailureClass::rejected: return "rejected";
    case FailureClass::cut: return "cut";
    case FailureClass::garbled: return "garbled";
  }
  return "?";
}

inline std::string say(const ModelEvent& event) {
  switch (event.kind) {
    case ModelEvent::Kind::text: return "text[" + event.text + "]\n";
    case ModelEvent::Kind::reasoning: return "reasoning[" + event.text + "]\n";
    case ModelEvent::Kind::tool_call:
      return "call " + event.call.id + " " + event.call.name + " " + event.call.arguments + "\n";
    case ModelEvent::Kind::usage:
      return "usage " + std::to_string(event.usage.input_tokens) + " in " + std::to_string(event.usage.output_tokens) +
             " out\n";
    case ModelEvent::Kind::stop: return "stop\n";
    case ModelEvent::Kind::failure:
      return "failure " + std::string(name_of(event.failure.failure_class)) + ": " + event.failure.what + "\n";
  }
  return "?\n";
}

// What comes of the pieces, in order, and of the end.
inline std::string read(const Dialect& dialect, const std::vector<std::string_view>& pieces) {
  const auto reader = dialect.reader();
  std::string said;
  for (const auto piece : pieces) {
    for (const auto& event : reader->feed(piece)) said += say(event);
  }
  if (const auto last = reader->end()) said += "at the end: " + say(*last);
  return said;
}

inline std::string read(const Dialect& dialect, std::string_view bytes) { return read(dialect, std::vector{bytes}); }

inline void expect_same_however_split(const Dialect& dialect, std::string_view bytes) {
  const auto whole = read(dialect, bytes);
  std::vector<std::string_view> single_bytes;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    ASSERT_EQ(read(dialect, {bytes.substr(0, at), bytes.substr(at)}), whole) << "split at " << at;
    single_bytes.push_back(bytes.substr(at, 1));
  }
  EXPECT_EQ(read(dialect, single_bytes), whole);
}

// Wherever the connection breaks, the answer says so, once and at the end.
inline void expect_cut_wherever_truncated(const Dialect& dialect, std::string_view bytes, std::size_t complete_at) {
  for (std::size_t length = 0; length < complete_at; ++length) {
    const auto said = read(dialect, bytes.substr(0, length));
    ASSERT_TRUE(said.find("at the end: failure cut: ") != std::string::npos) << "cut at " << length << ":\n" << said;
    ASSERT_EQ(said.find("stop\n"), std::string::npos) << "cut at " << length;
  }
}

// Bytes changed, dropped and doubled at random: whatever comes out, it ends once, with nothing after.
inline void expect_unbroken_by_noise(const Dialect& dialect, std::string_view bytes) {
  std::mt19937 random(20'240'601);
  const auto below = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); };
  for (int round = 0; round < 1500; ++round) {
    std::string noisy(bytes);
    for (std::size_t i = 0, changes = 1 + below(6); i < changes; ++i) {
      const auto at = below(noisy.size());
      switch (below(3)) {
        case 0: noisy[at] = static_cast<char>(below(256)); break;
        case 1: noisy.erase(at, 1 + below(20)); break;
        case 2: noisy.insert(at, noisy.substr(at, 1 + below(40))); break;
      }
      if (noisy.empty()) noisy = "x";
    }
    const auto reader = dialect.reader();
    int endings = 0;
    const auto take = [&](const ModelEvent& event) {
      EXPECT_EQ(endings, 0) << noisy;
      endings += event.kind == ModelEvent::Kind::stop || event.kind == ModelEvent::Kind::failure;
    };
    for (std::string_view rest = noisy; !rest.empty();) {
      const auto length = 1 + below(rest.size());
      for (const auto& event : reader->feed(rest.substr(0, length))) take(event);
      rest.remove_prefix(length);
    }
    if (const auto last = reader->end()) take(*last);
    EXPECT_EQ(endings, 1) << noisy;
    EXPECT_TRUE(reader->feed("data: {}\n\n").empty());
  }
}

// A dialogue with everything in it.
inline Prompt full_prompt() {
  Prompt prompt{.model = "some-model", .system = "Be \"brief\".", .max_output_tokens = 1000};
  prompt.tools = {{"bash", "Runs it.", R"({"type":"object","properties":{"command":{"type":"string"}}})"}};
  prompt.turns = {
      {.role = model::Role::user, .text = "Hi\n\xc3\xa9"},
      {.role = model::Role::assistant, .text = "Hello."},
      {.role = model::Role::assistant},
      {.role = model::Role::user, .text = "List."},
      {.role = model::Role::assistant,
       .text = "Looking.",
       .calls = {{"c1", "bash", R"({"command":"ls"})"}, {"c2", "read", R"({"path":"x"})"}}},
      {.role = model::Role::user, .results = {{"c1", "a.txt", false}, {"c2", "no such file", true}}},
  };
  return prompt;
}

}  // namespace sluice::models
