// Rulings on lines of shell.
#include "gates/commands.h"

#include <algorithm>
#include <array>

#include "gates/glob.h"
#include "gates/shell_line.h"

namespace sluice::gates {
namespace {

using model::Effect;

constexpr std::size_t suffixes_max = 64;
constexpr int depth_max = 8;
// Taking a line apart and putting a command together cost some steps a byte, because both write what they read.
constexpr std::size_t steps_per_byte_read = 8;
constexpr std::size_t bytes_written_per_step = 4;

// Their arguments hold a command, after options of their own.
constexpr auto carriers = std::to_array<std::string_view>(
    {"builtin", "busybox", "chroot",  "chrt",     "command", "coproc",  "doas",    "env",    "exec",    "fakeroot",
     "fd",      "find",    "flock",   "function", "ionice",  "ltrace",  "nice",    "nohup",  "nsenter", "parallel",
     "pkexec",  "prlimit", "runuser", "screen",   "script",  "setarch", "setpriv", "setsid", "stdbuf",  "strace",
     "su",      "sudo",    "taskset", "time",     "timeout", "tmux",    "unshare", "watch",  "xargs"});
constexpr auto shells =
    std::to_array<std::string_view>({"ash", "bash", "dash", "fish", "ksh", "mksh", "rbash", "sh", "zsh"});
constexpr auto keywords = std::to_array<std::string_view>(
    {"!", "{", "}", "do", "done", "elif", "else", "esac", "fi", "if", "in", "then", "until", "while"});

bool is_among(const auto& names, std::string_view name) { return std::ranges::find(names, name) != names.end(); }
bool has_unknown(std::string_view text) { return text.find(unknown) != std::string_view::npos; }

bool is_assignment(std::string_view word) {
  const auto end = word.find('=');
  if (end == std::string_view::npos || end == 0 || (word[0] >= '0' && word[0] <= '9')) return false;
  const auto name = word.substr(0, word[end - 1] == '+' ? end - 1 : end);
  return std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

// What is run when `word` is the path of a command; an unknown part may end in a slash.
std::string base_name(const std::string& word) {
  const auto slash = word.rfind('/') + 1;
  const auto hidden = word.rfind(unknown);
  return word.substr(hidden == std::string::npos ? slash : std::max(slash, hidden));
}

std::string joined(const std::string& first, const Words& words, std::size_t from) {
  std::string out = first;
  for (auto i = from; i < words.size(); ++i) (out += ' ') += words[i];
  return out;
}

bool is_from_elsewhere(std::string_view file) {
  return has_unknown(file) || file == "-" || file.starts_with("/dev/") || file.starts_with("/proc/");
}

class Judge final {
 public:
  Judge(const model::Policy& policy, Steps& steps) : steps_(steps) {
    for (const auto& rule : policy) {
      if (rule.subject == model::Subject::command) rules_.push_back(&rule);
    }
  }

  bool has_rules() const { return !rules_.empty(); }

  void judge_line(std::string_view line, int depth) {
    if (depth > depth_max) {
      doubtful_ = true;
      return;
    }
    if (!steps_.spend(line.size() * steps_per_byte_read)) return;
    const auto parts = take_apart(line);
    doubtful_ = doubtful_ || parts.doubtful;
    for (const auto& command : parts.commands) judge_command(command, depth);
    // A document is text, unless its reader executes it.
    for (const auto& text : parts.documents) {
      if (!steps_.spend(text.size() * steps_per_byte_read)) return;
      for (const auto& command : take_apart(text).commands) judge_words(command, Sure::no);
    }
  }

  void compare(std::string_view text) { compare(text, Sure::yes); }

  Ruling ruling() const {
    const bool found_the_strictest = found_ && found_->effect == Effect::deny;
    if (steps_.exhausted() && !found_the_strictest && has_strict_rules()) {
      return {Effect::ask, "This command is too long or too intricate to be compared with all rules.", ""};
    }
    if (found_ && found_->effect != Effect::allow) return {found_->effect, found_->reason, found_->pattern};
    if (possible_) {
      auto reason = possible_->reason;
      if (reason.empty()) reason = "This may be a command that a rule is about; only the shell can tell.";
      return {Effect::ask, std::move(reason), possible_->pattern};
    }
    if (doubtful_ && has_strict_rules()) {
      return {Effect::ask, "This command cannot be read with certainty before it runs.", ""};
    }
    if (found_) return {found_->effect, found_->reason, found_->pattern};
    return {};
  }

 private:
  enum class Sure { yes, no };

  bool has_strict_rules() const {
    return std::ranges::any_of(rules_, [](const auto* rule) { return rule->effect != Effect::allow; });
  }

  void compare(std::string_view text, Sure sure) {
    for (const auto* rule : rules_) {
      if (steps_.exhausted()) return;
      if (sure == Sure::yes && (!found_ || rule->effect > found_->effect) &&
          glob_matches(rule->pattern, text, steps_)) {
        found_ = rule;
      } else if (rule->effect != Effect::allow && (!possible_ || rule->effect > possible_->effect) &&
                 (sure == Sure::no || has_unknown(text)) && glob_may_match(rule->pattern, text, steps_)) {
        possible_ = rule;
      }
    }
  }

  void judge_command(const Words& all, int depth) {
    const auto words = judge_words(all, Sure::yes);
    if (words.empty() || steps_.exhausted()) return;
    const auto name = base_name(words[0]);
    look_inside(words, name, depth);
    if (is_among(carriers, name) || name.starts_with("ld-") || has_unknown(name)) judge_carried(words, name, depth);
  }

  // Where the options end and the command begins is not known, so it may begin at each word.
  void judge_carried(const Words& all, std::string_view name, int depth) {
    auto words = all;
    for (auto& word : words) {
      if (const auto slot = word.find("{}"); slot != std::string::npos) word.replace(slot, 2, 1, unknown);
    }
    if (name == "xargs" || name == "parallel") words.emplace_back(1, unknown);  // what they add
    for (std::size_t from = 1; from < all.size(); ++from) {
      if (steps_.exhausted()) return;
      if (from > suffixes_max) {
        doubtful_ = true;
        return;
      }
      // What find or xargs puts in is the command only right after an option.
      if (all[from] == "{}" && !all[from - 1].starts_with('-')) continue;
      const auto carried = judge_words({words.begin() + static_cast<std::ptrdiff_t>(from), words.end()}, Sure::yes);
      if (!carried.empty()) look_inside(carried, base_name(carried[0]), depth);
      judge_argument(all[from], depth);
    }
  }

  // `su -c 'a; b'`, `env -S'a b'`, `watch 'a b'`
  void judge_argument(std::string_view word, int depth) {
    if (word.find_first_of(" \t\n;&|") != std::string_view::npos) judge_text(word, depth);
    if (!word.starts_with('-') || word.size() < 3) return;
    judge_text(word.substr(word.starts_with("--") ? word.find('=') + 1 : 2), depth);
  }

  // Compares a command in each way it can be written; gives what is left of it without keywords and assignments.
  Words judge_words(const Words& all, Sure sure) {
    auto from = all.begin();
    while (from != all.end() && (is_among(keywords, *from) || is_assignment(*from))) ++from;
    Words words(from, all.end());
    if (words.empty()) return words;
    compare(put_together(words[0], words, 1), sure);
    const auto name = base_name(words[0]);
    if (name != words[0]) compare(put_together(name, words, 1), sure);
    // `git -C dir push` is `git push`; how many of the words belong to options is not known.
    if (words.size() < 3 || !words[1].starts_with('-')) return words;
    for (std::size_t i = 2; i < words.size() && i <= suffixes_max && !steps_.exhausted(); ++i) {
      compare(put_together(name, words, i), sure);
    }
    return words;
  }

  std::string put_together(const std::string& first, const Words& words, std::size_t from) {
    auto text = joined(first, words, from);
    steps_.spend(text.size() / bytes_written_per_step + words.size());
    return text;
  }

  // Commands that are given as text.
  void look_inside(const Words& words, const std::string& name, int depth) {
    if (is_among(shells, name)) return look_inside_shell(words, depth);
    if (name == "eval") return judge_text(put_together("", words, 1), depth);
    if (name == "trap" && words.size() > 1) return judge_text(words[1], depth);
    if ((name == "." || name == "source") && words.size() > 1 && is_from_elsewhere(words[1])) doubtful_ = true;
  }

  void look_inside_shell(const Words& words, int depth) {
    bool has_text = false;
    const std::string* script = nullptr;
    for (std::size_t i = 1; i < words.size(); ++i) {
      const auto& word = words[i];
      const bool is_option = word.size() > 1 && (word[0] == '-' || word[0] == '+');
      if (has_text) {
        judge_text(word, depth);
      } else if (is_option && word[1] != '-' && word.find('c') != std::string::npos) {
        has_text = true;
      } else if (word.starts_with("--command") || (is_option && has_unknown(word))) {
        has_text = true;
        doubtful_ = true;
      } else if (is_option && word.find('s') != std::string::npos && word[1] != '-') {
        doubtful_ = true;  // reads its input
      } else if (!is_option && !script) {
        script = &word;
      }
    }
    if (!has_text && (!script || is_from_elsewhere(*script))) doubtful_ = true;
  }

  void judge_text(std::string_view text, int depth) {
    if (has_unknown(text)) doubtful_ = true;
    judge_line(text, depth + 1);
  }

  Steps& steps_;
  std::vector<const model::PolicyRule*> rules_;
  const model::PolicyRule* found_ = nullptr;
  const model::PolicyRule* possible_ = nullptr;
  bool doubtful_ = false;
};

}  // namespace

Ruling rule_on_command(const model::Policy& policy, std::string_view command) {
  Steps steps;
  return rule_on_command(policy, command, steps);
}

Ruling rule_on_command(const model::Policy& policy, std::string_view command, Steps& steps) {
  Judge judge(policy, steps);
  if (!judge.has_rules()) return {};
  judge.compare(command.substr(0, command.find_last_not_of(" \t\n") + 1));
  judge.judge_line(command, 0);
  return judge.ruling();
}

}  // namespace sluice::gates
