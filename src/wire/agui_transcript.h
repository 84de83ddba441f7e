// What a run amounts to as AG-UI messages: the agent's words, thoughts and calls, and the calls' results, with the ids
// that its stream has. Which ids there are does not depend on who reads.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::wire {

class AguiTranscript {
 public:
  // Ids are `prefix`-1, `prefix`-2 and so on.
  explicit AguiTranscript(std::string prefix) : prefix_(std::move(prefix)) {}

  std::string add_words(std::string_view subagent) { return add(Role::assistant, subagent); }
  // What parts one round's text from the next in one content; messages are apart by themselves.
  void add_gap(std::size_t bytes) { gap_ += bytes; }
  std::string add_thoughts(std::string_view subagent) { return add(Role::reasoning, subagent); }
  void append(std::string_view message, std::string_view text);

  void add_call(std::string_view message, std::string_view call, std::string_view name);
  void append_arguments(std::string_view call, std::string_view arguments);
  // A call that was never finished, and is not going to be.
  void forget_call(std::string_view call);
  // Right after the message that has the call, and its other results: there the client puts it.
  std::string add_result(std::string_view call, std::string_view content, bool failed, std::string_view subagent);
  // The result of that call is the client's own, so that no stream repeats it.
  void mark_as_clients(std::string_view call);

  // Takes back what the agent itself said, but for its first `bytes`. The last message that has any of them, or "".
  std::string keep_words(std::size_t bytes);

  // Appends the messages as JSON objects, with commas between them.
  void append_json(std::string& out, bool with_subagents) const;

  int64_t count() const { return count_; }
  // The same of those that were begun when count() was `count`, and of results that are the client's own: what a
  // client has to know that is about to get the rest as a stream.
  void append_begun_json(std::string& out, int64_t count) const;

 private:
  enum class Role : uint8_t { assistant, reasoning, tool };
  struct Call {
    std::string id;
    std::string name;
    std::string arguments;
  };
  struct Entry {
    Role role;
    std::string id;
    std::string subagent;
    std::string text;
    std::vector<Call> calls;  // of an assistant's
    std::string call;         // of a tool's
    bool failed = false;
    bool is_clients = false;
    int64_t number = 0;
    std::size_t gap = 0;  // bytes of the answer before its text that are no message's
  };

  std::string add(Role role, std::string_view subagent);
  std::string next_id() { return prefix_ + "-" + std::to_string(++count_); }
  Entry* find(std::string_view id);
  Entry* find_call(std::string_view id);
  static void append_entry(std::string& out, const Entry& entry);

  std::string prefix_;
  int64_t count_ = 0;
  std::size_t gap_ = 0;  // of the text that comes next
  std::vector<Entry> entries_;
};

}  // namespace sluice::wire
