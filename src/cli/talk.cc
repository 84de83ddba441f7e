#include <algorithm>
#include <charconv>

#include "base/bytes.h"
#include "base/json.h"
#include "cli/answer_printer.h"
#include "cli/cli.h"
#include "cli/decisions.h"
#include "cli/render.h"

namespace sluice::cli {
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
