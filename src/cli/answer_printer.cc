#include "cli/answer_printer.h"

#include <utility>

#include "base/json.h"
#include "base/utf8.h"
#include "cli/render.h"

namespace sluice::cli {
namespace {

constexpr std::size_t filler_bytes_max = 60;  // one line: an erasure cannot follow a wrapped one

int64_t number_of(json::Value object, std::string_view name) {
  const auto member = object.find(name);
  return member ? member->integer().value_or(0) : 0;
}

std::string one_line(std::string_view text) {
  auto line = harmless(text.substr(0, text.find('\n')));
  if (line.size() <= filler_bytes_max) return line;
  return line.substr(0, utf8_prefix_size(line, filler_bytes_max)) + "…";
}

}  // namespace

void AnswerPrinter::on_event(const client::Event& event) {
  last_seq_ = event.seq;
  if (!event.message_id.empty()) message_id_ = event.message_id;
  if (form_ == Form::json) return console_.out(event.line + "\n");
  if (event.type == "content_delta") return take_delta(event);
  if (event.type == "queued" || event.type == "approval_required") {
    const auto data = json::Document::parse(event.data);
    if (!data) return;
    if (event.type == "queued") return show_queue(data.value().root());
    show_activity(event);
    return show_gate(data.value().root());
  }
  if (event.type == "message_start") erase_filler();
  if (event.type == "resumed") show_line("sluice: approved; the run goes on\n");
  if (event.type == "resumed" || event.terminal()) gate_.reset();
  show_activity(event);
}

void AnswerPrinter::show_queue(json::Value place) {
  // No time is shown, because the duration of the runs before this one is unknown.
  const auto text = "waiting for a slot, position " + std::to_string(number_of(place, "position")) + " in the queue";
  if (console_.is_terminal()) return show_filler(text);
  if (std::exchange(queue_text_, text) != text) console_.err("sluice: " + text + "\n");
}

// What is asked, and the words that answer it from any other terminal.
void AnswerPrinter::show_gate(json::Value approval) {
  const auto id = shell_quoted(text_of(approval, "id"));
  std::string supplies;
  if (const auto items = approval.find("requested_items")) {
    items->each_element([&](json::Value item) {
      if (const auto alias = text_of(item, "alias"); !alias.empty()) supplies += " --secret " + shell_quoted(alias);
    });
  }
  const std::string_view key = deciding_.has_key ? "" : " --key-file FILE";
  show_line("sluice: the run waits for a decision\n" + approval_text(approval) +
            "Approve with: " + hints_.command("approvals approve " + id + supplies + std::string(key)) +
            "\nor deny with: " + hints_.command("approvals deny " + id + std::string(key)) + "\n");
  if (deciding_.now) gate_ = text_of(approval, "id");
}

void AnswerPrinter::show_activity(const client::Event& event) {
  const auto text = activity_.take(event);
  if (!text.empty()) show_beside(text);
}

void AnswerPrinter::show_line(const std::string& text) { show_beside(activity_.end_line() + text); }

// Beside the answer, not in it: on standard error, and where both are seen together on lines of its own.
void AnswerPrinter::show_beside(const std::string& text) {
  if (console_.is_one_file()) {
    end_line();
  } else {
    erase_filler();
  }
  console_.err(text);
  beside_ = true;
}

void AnswerPrinter::on_link(client::Link link) {
  show_line(link == client::Link::lost ? "sluice: connection lost; trying again… the run goes on at the server\n"
                                       : "sluice: connected again\n");
}

void AnswerPrinter::take_delta(const client::Event& event) {
  const auto data = json::Document::parse(event.data);
  if (!data) return;
  const auto root = data.value().root();
  const auto filler = root.find("filler");
  if (filler && filler->boolean().value_or(false)) return show_filler(text_of(root, "text"));
  erase_filler();
  const auto text = text_of(root, "text");
  if (const auto rest = activity_.end_line(); !rest.empty()) console_.err(rest);
  // On a terminal, what stands beside the answer parts its rounds already.
  const bool is_parted = beside_ && console_.is_terminal() && text.find_first_not_of('\n') == std::string::npos;
  if (is_parted) return static_cast<void>(text_ += text);
  beside_ = false;
  text_ += text;
  is_text_ended_ = false;
  console_.out(console_.is_terminal() ? harmless(text) : text);
}

void AnswerPrinter::show_filler(std::string_view text) {
  if (!console_.is_terminal()) return;  // in a file it could not be taken back
  erase_filler();
  console_.out(
      "\x1b"
      "7\x1b[2m" +
      one_line(text) + "\x1b[0m");
  filler_shown_ = true;
}

void AnswerPrinter::erase_filler() {
  if (!filler_shown_) return;
  filler_shown_ = false;
  console_.out(
      "\x1b"
      "8\x1b[0J");
}

void AnswerPrinter::end_line() {
  erase_filler();
  if (form_ == Form::human && !is_text_ended_ && !text_.empty() && !text_.ends_with('\n')) console_.out("\n");
  is_text_ended_ = true;
}

// After a reconcile the end of the message is known, but may not have been printed.
void AnswerPrinter::print_rest(std::string_view message_json) {
  if (form_ == Form::json || !from_start_) return;
  const auto message = json::Document::parse(message_json);
  if (!message) return;
  const auto content = text_of(message.value().root(), "content");
  if (content == text_) return;
  if (!content.starts_with(text_)) {
    end_line();
    text_.clear();
  }
  erase_filler();
  is_text_ended_ = false;
  const auto rest = content.substr(text_.size());
  text_ = content;
  console_.out(console_.is_terminal() ? harmless(rest) : rest);
}

void AnswerPrinter::print_how_to_resume() {
  if (message_id_.empty()) return;
  const auto after = last_seq_ >= 0 ? " --after " + std::to_string(last_seq_) : "";
  console_.err("The run goes on. Read on with: " + hints_.command("runs tail " + message_id_ + after) + "\n");
}

// A conversation that is busy with an answer somebody left.
void AnswerPrinter::print_remedy(std::string_view problem_json) {
  const auto problem = json::Document::parse(problem_json);
  const auto run = problem ? text_of(problem.value().root(), "conflicting_resource_id") : "";
  if (!run.starts_with("run_")) return;
  console_.err("Read the answer in progress with: " + hints_.command("runs tail " + shell_quoted(run)) +
               "\nor end it with: " + hints_.command("runs cancel " + shell_quoted(run)) + "\n");
}

int AnswerPrinter::finish(const Followed& followed) {
  const auto& outcome = followed.outcome;
  if (!followed.interrupted && outcome.kind == client::Outcome::Kind::completed) print_rest(outcome.json);
  end_line();
  if (const auto rest = activity_.end_line(); !rest.empty() && !followed.interrupted) console_.err(rest);
  if (followed.interrupted) {
    console_.err("\nDetached.\n");
    print_how_to_resume();
    return exit_interrupted;
  }
  switch (outcome.kind) {
    case client::Outcome::Kind::completed: return exit_ok;
    case client::Outcome::Kind::failed:
      if (!outcome.detail.empty()) {
        report_error(console_, form_, outcome.detail);
      } else {
        console_.err(problem_text(outcome.status, outcome.json));  // with --json it was an event
      }
      return exit_failed;
    case client::Outcome::Kind::refused:
      report_problem(console_, form_, outcome.status, outcome.json);
      print_remedy(outcome.json);
      return exit_failed;
    case client::Outcome::Kind::unknown: break;
  }
  report_error(console_, form_, outcome.detail);
  print_how_to_resume();
  return exit_unknown;
}

}  // namespace sluice::cli
