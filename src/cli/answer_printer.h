// Prints an answer while it arrives: text stays, filler is erased again. Used on the main thread of a command.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "base/json.h"
#include "cli/activity.h"
#include "cli/cli.h"
#include "cli/remote.h"
#include "cli/report.h"

namespace sluice::cli {

// How the reader can decide approvals.
struct Deciding {
  bool has_key = false;  // an approver key is known without a flag
  bool now = false;      // the reader is at a terminal and can decide at once
};

class AnswerPrinter final : public AnswerListener {
 public:
  // `after`: the seq up to which the answer was read before, if it was.
  AnswerPrinter(Console& console, Form form, const Hints& hints, Deciding deciding, int64_t after = -1)
      : console_(console), form_(form), hints_(hints), deciding_(deciding), from_start_(after < 0), last_seq_(after) {}

  void on_event(const client::Event& event) override;
  void on_link(client::Link link) override;
  bool wants_to_leave() const override { return gate_.has_value(); }
  // The id of the approval to be decided now; once.
  std::string take_gate() { return std::exchange(gate_, std::nullopt).value_or(""); }
  const std::string& message_id() const { return message_id_; }
  int64_t last_seq() const { return last_seq_; }
  // Prints what the outcome adds to the printed text; returns the exit code.
  int finish(const Followed& followed);

 private:
  void show_queue(json::Value place);
  void show_gate(json::Value approval);
  void take_delta(const client::Event& event);
  void show_activity(const client::Event& event);
  void show_line(const std::string& text);
  void show_beside(const std::string& text);
  void show_filler(std::string_view text);
  void erase_filler();
  void print_rest(std::string_view message_json);
  void end_line();
  void print_how_to_resume();
  void print_remedy(std::string_view problem_json);

  Console& console_;
  Form form_;
  const Hints& hints_;
  Deciding deciding_;
  bool from_start_;
  std::string text_;  // the answer as printed so far
  bool filler_shown_ = false;
  bool is_text_ended_ = false;  // the line break after it was written
  Activity activity_;
  bool beside_ = false;  // the last thing shown was beside the answer
  int64_t last_seq_;
  std::string message_id_;
  std::optional<std::string> gate_;
  std::string queue_text_;  // as it was shown last
};

}  // namespace sluice::cli
