// An answer as it comes: text as text, filler as something that passes.
#pragma once

#include <string>

#include "cli/console.h"
#include "cli/remote.h"

namespace sluice::cli {

enum class Form : uint8_t { human, json };

class AnswerPrinter {
 public:
  // `after`: the seq up to which the answer was read before, if it was.
  AnswerPrinter(Console& console, Form form, int64_t after = -1)
      : console_(console), form_(form), from_start_(after < 0), last_seq_(after) {}

  void take(const client::Event& event);
  // What the outcome adds to what was told, and the exit code.
  int finish(const Followed& followed);

 private:
  void take_delta(const client::Event& event);
  void show_filler(std::string_view text);
  void erase_filler();
  void print_rest(std::string_view message_json);
  void end_line();
  void say_how_to_come_back();

  Console& console_;
  Form form_;
  bool from_start_;
  std::string text_;  // of the answer, as told so far
  bool filler_shown_ = false;
  int64_t last_seq_;
  std::string message_id_;
};

}  // namespace sluice::cli
