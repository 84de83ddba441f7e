// What the Assistant's message is made of, in the order in which it appeared: the same blocks whether they are
// gathered from a journal or, by a browser, from the frames of the stream.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "base/json.h"

namespace sluice::wire {

inline constexpr std::size_t shown_bytes_max = std::size_t{16} << 10;   // of a step's result, of what it printed
inline constexpr std::size_t value_bytes_max = std::size_t{256} << 10;  // of what a tool tells besides
inline constexpr std::size_t diff_bytes_max = std::size_t{1} << 20;
inline constexpr std::string_view cut_note = "\n… (cut here; the run's trace has all of it)";

// At a character's border, with the note, when it is longer.
std::string cut_for_display(std::string_view text, std::size_t bytes_max);
// JSON in, JSON out. What is too long becomes a text that is cut.
std::string shown_value(std::string_view value, std::size_t bytes_max);
// The same for arguments: an object stays one, and its members are cut each for itself.
std::string shown_arguments(std::string_view arguments);

struct StepBlock {
  std::string id;
  std::string name;
  std::string status;
  std::string subagent;               // whose it is; empty: the agent's own
  std::string args;                   // JSON, as the next; empty: not known yet
  std::optional<std::string> result;  // JSON
  std::optional<std::string> error;   // text
  std::optional<int64_t> duration_ms;
  std::string output;
  bool output_cut = false;
  bool was_run = false;  // otherwise it is only being written
};

struct ApprovalBlock {
  std::string id;
  std::string status;
  std::string reason;
  std::string items = "[]";  // JSON
  int64_t expires_at_ms = 0;
};

struct SubagentBlock {
  std::string id;
  std::string name;
  std::string status;
  std::optional<std::string> error;
  std::string text;
  bool text_cut = false;
};

// Their members, without braces or a type: of frames and of blocks.
void append_members(json::Writer& writer, const StepBlock& step, bool with_args);
void append_members(json::Writer& writer, const ApprovalBlock& approval);

class ChatBlocks {
 public:
  void say(std::string_view text) { add_words(Words::Kind::text, text); }
  void think(std::string_view text) { add_words(Words::Kind::reasoning, text); }
  // All that was said is taken back but for its first bytes, at a character's border: how many those are. Empty, and
  // nothing is changed, when there are not so many.
  std::optional<std::size_t> take_back(int64_t kept_bytes);

  // The one of that id, made when there is none.
  StepBlock& step(std::string_view id);
  StepBlock* find_step(std::string_view id);
  void print(StepBlock& step, std::string_view text);
  // Those that are being written and have not begun to run.
  std::vector<StepBlock*> written_steps();

  // The last word on a path counts.
  void change_file(std::string_view type, std::string_view path);
  void set_diff(std::string diff);
  // What this run alone changed, where the diff is of more.
  void set_run_diff(std::string diff);
  ApprovalBlock& approval(std::string_view id);
  // The one that waits; null when none does.
  ApprovalBlock* pending_approval();
  void add_output(std::string name, std::string value);
  void add_assets(std::string files);
  SubagentBlock& subagent(std::string_view id);
  void say(SubagentBlock& subagent, std::string_view text);

  // A list.
  void append_json(json::Writer& writer) const;

 private:
  struct Words {
    enum class Kind : uint8_t { text, reasoning };
    Kind kind;
    std::string text;
  };
  struct File {
    std::string type;
    std::string path;
  };
  struct Files {
    std::vector<File> files;
    std::unordered_map<std::string, std::size_t> by_path;
  };
  struct Diff {
    std::string diff;
  };
  struct RunDiff {
    std::string diff;
  };
  struct ToolOutput {
    std::string name;
    std::string value;  // JSON
  };
  struct Assets {
    std::string files;  // JSON
  };
  using Block = std::variant<Words, StepBlock, Files, Diff, RunDiff, ApprovalBlock, ToolOutput, SubagentBlock, Assets>;

  void add_words(Words::Kind kind, std::string_view text);
  template <typename Kind>
  Kind* find(std::string_view id);
  template <typename Kind>
  Kind& find_or_add(std::string_view id);
  template <typename Kind>
  Kind& only();

  static void append(json::Writer& writer, const Words& words);
  static void append(json::Writer& writer, const StepBlock& step);
  static void append(json::Writer& writer, const Files& files);
  static void append(json::Writer& writer, const Diff& diff);
  static void append(json::Writer& writer, const RunDiff& diff);
  static void append(json::Writer& writer, const ApprovalBlock& approval);
  static void append(json::Writer& writer, const ToolOutput& output);
  static void append(json::Writer& writer, const SubagentBlock& subagent);
  static void append(json::Writer& writer, const Assets& assets);

  std::vector<Block> blocks_;
  std::unordered_map<std::string, std::size_t> steps_;  // by id: a run may have thousands
};

}  // namespace sluice::wire
