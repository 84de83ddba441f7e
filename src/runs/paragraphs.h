// Where one round of an answer ends and the next begins. The rounds' texts are one content (I-9): without a break
// between them the last word of one and the first of the next would be one word.
#pragma once

#include <string>
#include <string_view>

namespace sluice::runs {

class Paragraphs {
 public:
  // A tool was called: what is said next is another paragraph, if anything was said before.
  void end_round() { is_due_ = has_said_; }

  // What has to be emitted before `text`, which is emitted next; mostly empty. White space of the model's own is
  // enough.
  std::string before(std::string_view text) {
    if (text.empty()) return {};
    const bool is_missing = is_due_ && !ends_apart_ && !is_space(text.front());
    is_due_ = false;
    note(text);
    return is_missing ? "\n\n" : "";
  }

  // Text that was emitted without before(), for example before the run was taken over.
  void note(std::string_view text) {
    if (text.empty()) return;
    has_said_ = true;
    ends_apart_ = is_space(text.back());
  }

  // `text` is all that is left of what was said; `is_due`: a break was among what was taken back.
  void take_back(std::string_view text, bool is_due) {
    *this = {};
    note(text);
    is_due_ = is_due && has_said_;
  }

 private:
  static bool is_space(char byte) { return byte == ' ' || byte == '\n' || byte == '\t' || byte == '\r'; }

  bool has_said_ = false;
  bool is_due_ = false;
  bool ends_apart_ = false;
};

}  // namespace sluice::runs
