#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <utility>

#include "base/bytes.h"
#include "base/json.h"
#include "base/utf8.h"
#include "cli/activity.h"
#include "cli/cli.h"
#include "cli/console.h"
#include "cli/decisions.h"
#include "cli/remote.h"
#include "cli/render.h"

namespace sluice::cli {
namespace {

// How the reader can decide approvals.
struct Deciding {
  bool has_key = false;  // an approver key is known without a flag
  bool now = false;      // the reader is at a terminal and can decide at once
};

// Prints an answer while it arrives: text stays, filler is erased again. Used on the main thread of a command.
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

namespace {

std::string id_of(const client::Reply& reply, std::string_view member) {
  const auto document = json::Document::parse(reply.body);
  if (!document) return "";
  const auto id = document.value().root().find(member);
  return std::string(id ? id->string().value_or("") : "");
}

// The conversation that was named, or one made now. Empty: said why, and `code` is set.
std::string conversation_for(Context& context, int& code) {
  if (context.arguments.has("--conversation")) {
    auto id = context.arguments.flag("--conversation");
    const auto names = {"--mode", "--sticky-ttl-seconds", "--type"};
    if (std::ranges::none_of(names, [&](const char* name) { return context.arguments.has(name); })) return id;
    report_error(context.console, context.form(),
                 "--mode and --type are for a new conversation; change this one's mode with: " +
                     context.hints.command("conversations update " + shell_quoted(id) + " --mode MODE"));
    code = exit_usage;
    return "";
  }
  std::string body;
  json::Writer writer(body);
  writer.begin_object();
  if (context.arguments.has("--agent")) writer.key("agent_id").string(context.arguments.flag("--agent"));
  if (const auto written = write_runtime(writer, context.arguments); !written) {
    report_error(context.console, context.form(), written.error().what);
    code = exit_usage;
    return "";
  }
  writer.end_object();
  const auto reply = context.remote.request(As::service, "POST", "/v1/conversations", body);
  if (refused(context, reply, code)) return "";
  auto id = id_of(reply.value(), "id");
  if (id.empty()) {
    report_error(context.console, context.form(), "the server made a conversation and did not name it");
    code = exit_unknown;
  }
  return id;
}

bool is_person_there(const Console& console) { return console.can_ask() && console.is_terminal(); }

Deciding deciding_of(const Context& context) {
  const bool has_key = !context.access.approver_file.empty();
  return {.has_key = has_key, .now = has_key && context.form() == Form::human && is_person_there(context.console)};
}

// Follows an answer to its end, with a stop wherever somebody here can decide how it goes on.
int hear_out(Context& context, AnswerPrinter& printer, Followed followed) {
  while (followed.left) {
    offer_decision(context, printer.take_gate());
    followed = context.remote.follow(printer.message_id(), printer.last_seq(), printer);
  }
  return printer.finish(followed);
}

int send_text(Context& context, const std::string& conversation, const std::string& text) {
  std::string body;
  json::Writer writer(body);
  writer.begin_object().key("content").string(text);
  write_materials(writer, context);
  if (context.arguments.has("--hold")) writer.key("on_capacity").string("hold");
  writer.end_object();
  AnswerPrinter printer(context.console, context.form(), context.hints, deciding_of(context));
  return hear_out(context, printer, context.remote.send_message(conversation, body, printer));
}

// One message: a line, and the next one as long as it ends in a backslash.
std::optional<std::string> read_message(Console& console) {
  std::string message;
  for (auto line = console.read_line("you> ");; line = console.read_line("...> ")) {
    if (!line) return message.empty() ? std::nullopt : std::optional(message);
    if (!line->ends_with('\\')) return message + *line;
    line->pop_back();
    message += *line + "\n";
  }
}

// A word for us, not for the agent.
void answer_locally(Console& console, std::string_view message) {
  const auto word = message.substr(0, message.find_first_of(" \t\r\n"));
  if (word != "/help") {
    return console.err("There is no " + harmless(word) + ": /help says what there is, and // sends a slash.\n");
  }
  console.err(
      "  /quit    end; Ctrl-D and Ctrl-C at the prompt do the same\n"
      "  /help    say this\n"
      "  //…      send a message that begins with a slash\n"
      "  …\\      go on in the next line\n"
      "  Up, Down earlier messages; arrow keys, Ctrl-A, E, U, K and W edit the line\n"
      "  Ctrl-C   during an answer: leave it running, and say how to come back\n");
}

bool is_text(Context& context, const std::string& text) {
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) {
    report_error(context.console, context.form(), "the message is empty");
    return false;
  }
  if (!is_utf8(text)) {
    report_error(context.console, context.form(), "the message is not valid UTF-8");
    return false;
  }
  return true;
}

}  // namespace

int send(Context& context) {
  const auto text = context.operand(0) == "-" ? context.console.read_all() : context.operand(0);
  if (!is_text(context, text)) return exit_usage;
  int code = exit_ok;
  const auto conversation = conversation_for(context, code);
  if (conversation.empty()) return code;
  code = send_text(context, conversation, text);
  if (code == exit_ok && context.form() == Form::human && !context.arguments.has("--conversation")) {
    context.console.err("Go on with: " + context.hints.command("send --conversation " + conversation + " TEXT") + "\n");
  }
  return code;
}

int chat(Context& context) {
  int code = exit_ok;
  const auto conversation = conversation_for(context, code);
  if (conversation.empty()) return code;
  if (context.form() == Form::human) {
    context.console.err("Conversation " + conversation + ". End with /quit; /help says what else there is.\n");
  }
  while (const auto message = read_message(context.console)) {
    if (*message == "/quit") break;
    if (message->find_first_not_of(" \t\r\n") == std::string::npos || !is_text(context, *message)) continue;
    const bool has_two_slashes = message->starts_with("//");
    if (message->starts_with('/') && !has_two_slashes) {
      answer_locally(context.console, *message);
      continue;
    }
    code = send_text(context, conversation, has_two_slashes ? message->substr(1) : *message);
    if (code == exit_unknown) return code;
  }
  return exit_ok;
}

int tail_run(Context& context) {
  auto message = context.operand(0);
  int code = exit_ok;
  if (message.starts_with("run_")) {
    const auto reply = context.remote.request(As::service, "GET", "/v1/runs/" + message, "");
    if (refused(context, reply, code)) return code;
    message = id_of(reply.value(), "message_id");
  }
  int64_t after = -1;
  if (context.arguments.has("--after")) {
    const auto text = context.arguments.flag("--after");
    const auto read = std::from_chars(text.data(), text.data() + text.size(), after);
    if (read.ec != std::errc() || read.ptr != text.data() + text.size() || after < -1) {
      report_error(context.console, context.form(), "--after must be the seq of an event, not \"" + text + "\"");
      return exit_usage;
    }
  }
  AnswerPrinter printer(context.console, context.form(), context.hints, deciding_of(context), after);
  return hear_out(context, printer, context.remote.follow(message, after, printer));
}

}  // namespace sluice::cli
