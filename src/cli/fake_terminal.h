// A scripted terminal and a scripted server, for tests of commands.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <map>

#include "cli/cli.h"
#include "cli/commands.h"

namespace sluice::cli {

class FakeConsole final : public Console {
 public:
  void out(std::string_view text) override { (output += text, seen += text); }
  void err(std::string_view text) override { (errors += text, seen += text); }
  std::optional<std::string> read_line(std::string_view prompt) override {
    prompts += prompt;
    if (input.empty()) return std::nullopt;
    auto line = input.front();
    input.pop_front();
    return line;
  }
  std::optional<std::string> read_hidden(std::string_view prompt) override {
    return person ? read_line(prompt) : std::nullopt;
  }
  std::string read_all() override { return input.empty() ? "" : input.front(); }
  bool is_terminal() const override { return terminal; }
  bool is_one_file() const override { return terminal; }
  bool can_ask() const override { return person; }

  std::string output, errors, prompts;
  std::string seen;  // both together, in order
  std::deque<std::string> input;
  bool terminal = false;
  bool person = false;  // there to be asked
};

class FakeRemote final : public Remote {
 public:
  Result<client::Reply> request(As as, std::string method, std::string path, std::string body) override {
    asked.push_back((as == As::admin ? "admin " : "") + method + " " + path + (body.empty() ? "" : " " + body));
    if (!reachable) return Error{ErrorKind::unavailable, "connection refused"};
    const auto own = answers.find(method + " " + path);
    return client::Reply{
        own == answers.end() ? status : own->second.status, {}, own == answers.end() ? answer : own->second.body};
  }
  Result<client::Reply> stream(std::string method, std::string path, std::string body,
                               std::function<void(std::string_view)> on_bytes) override {
    asked.push_back("stream " + (method == "GET" ? "" : method + " ") + path + (body.empty() ? "" : " " + body));
    if (!reachable) return Error{ErrorKind::unavailable, "connection refused"};
    if (status != 200) return client::Reply{status, {}, answer};
    for (const auto& piece : pieces) on_bytes(piece);
    return client::Reply{status, {}, ""};
  }
  Followed send_message(std::string conversation, std::string body, AnswerListener& listener) override {
    asked.push_back("send " + conversation + " " + body);
    return play(listener);
  }
  Followed follow(std::string message, int64_t after, AnswerListener& listener) override {
    asked.push_back("follow " + message + " " + std::to_string(after));
    return play(listener);
  }

  std::vector<std::string> asked;
  bool reachable = true;
  int status = 200;
  std::string answer = R"({"id":"con_1","message_id":"msg_1"})";
  struct Answer {
    int status = 200;
    std::string body;
  };
  std::map<std::string, Answer> answers;  // to "GET /v1/x", in place of the one to all
  std::vector<std::string> pieces;
  std::vector<client::Event> events;
  std::vector<client::Link> links;
  Followed followed{{client::Outcome::Kind::completed, R"({"content":"Hello there"})", "", 200}};

 private:
  // A listener that leaves hears the rest when it follows again.
  Followed play(AnswerListener& listener) {
    while (told_ < events.size()) {
      listener.on_event(events[told_++]);
      if (listener.wants_to_leave()) return {.left = true};
    }
    told_ = 0;
    for (const auto link : links) listener.on_link(link);
    return followed;
  }

  std::size_t told_ = 0;
};

class CommandsTest : public testing::Test {
 protected:
  static constexpr int64_t noon_ms = 1'782'993'600'123;  // 2026-07-02T12:00:00.123Z

  int run(std::vector<std::string> words) {
    const auto found = find_command(words);
    EXPECT_NE(found.command, nullptr);
    std::vector<Flag> known(common_flags().begin(), common_flags().end());
    known.insert(known.end(), found.command->flags.begin(), found.command->flags.end());
    const auto arguments = Arguments::parse(std::span(words).subspan(found.words), known);
    EXPECT_TRUE(arguments) << arguments.error().what;
    Context context{arguments.value(), access, console, remote, hints, [] { return Timestamp{noon_ms}; }};
    return found.command->run(context);
  }
  void event(std::string type, int64_t seq, std::string data) {
    remote.events.push_back(
        {std::move(type), "con_1", "msg_1", seq, std::move(data), "{line " + std::to_string(seq) + "}"});
  }
  void delta(int64_t seq, std::string data) { event("content_delta", seq, std::move(data)); }

  Access access{.url = "http://s", .tenant_id = "tnt_1"};
  FakeConsole console;
  FakeRemote remote;
  Hints hints{"build/sluice", {{"--data", "/my data"}}};
};

}  // namespace sluice::cli
