#include "gates/shell_line.h"

#include <algorithm>
#include <utility>

#include "gates/glob.h"

namespace sluice::gates {
namespace {

constexpr std::size_t line_bytes_max = 128 * 1024;
constexpr std::size_t commands_max = 1000;
constexpr int nesting_max = 16;

constexpr std::string_view digits = "0123456789";
constexpr std::string_view name_characters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
constexpr std::string_view special_parameters = "@*#?$!-";

bool is_in(std::string_view set, char c) { return set.find(c) != std::string_view::npos; }

class Reader final {
 public:
  Reader(std::string_view text, ShellLine& out, int depth) : text_(text), out_(out), depth_(depth) {
    if (depth > nesting_max || text.size() > line_bytes_max) {
      doubt();
      text_ = {};
    }
  }

  void read_line() { read_commands(Until::end); }

  // As between double quotes, to the end: what a here-document goes through.
  void read_document() {
    Frame frame;
    frame_ = &frame;
    while (!at_end()) read_quoted();
  }

 private:
  enum class Until { end, parenthesis };
  enum class Target { none, file, document, document_with_tabs };
  struct Document {
    std::string end;
    bool is_literal = false;
    bool strips_tabs = false;
  };
  // One list of commands, and the word that is being read.
  struct Frame {
    Words words;
    std::string word;
    bool in_word = false;
    bool is_quoted = false;
    std::size_t unknown_from = std::string::npos;  // in `word`: a bracket or a brace began here
    Target target = Target::none;                  // the word is where a redirection leads
    std::vector<Document> documents;               // announced; they begin after the next line end
    int open = 0;                                  // parentheses
    bool has_arithmetic = false;
    std::size_t words_before_both = std::string::npos;  // how many words stood before `&>`
  };

  void doubt() { out_.doubtful = true; }
  bool at_end() const { return at_ >= text_.size(); }
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\n'; }
  void put(char c) {
    frame_->word += c;
    frame_->in_word = true;
  }

  void read_commands(Until until) {
    Frame frame;
    frame.has_arithmetic = until == Until::parenthesis && peek() == '(';
    Frame* const outer = std::exchange(frame_, &frame);
    bool closed = until == Until::end;
    while (!at_end()) {
      if (until == Until::parenthesis && peek() == ')' && frame.open == 0) {
        ++at_;
        closed = true;
        break;
      }
      read_next(until);
    }
    end_command(until);
    if (!closed || !frame.documents.empty()) doubt();
    frame_ = outer;
  }

  void read_next(Until until) {
    const char c = peek();
    if (c == '<' || c == '>' || (c == '&' && peek(1) == '>')) return read_redirection();
    if (c == '#' && !frame_->in_word) {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (c == ' ' || c == '\t') {
      ++at_;
      end_word();
    } else if (c == '\n') {
      ++at_;
      end_command(until);
      read_documents();
    } else if (is_in(";|&()", c)) {
      if (c == '(') open_parenthesis();
      if (c == ')' && frame_->open > 0) --frame_->open;
      ++at_;
      end_command(until);
    } else {
      read_word_part();
    }
  }

  void open_parenthesis() {
    if (frame_->in_word && is_in("?*+@!", text_[at_ - 1])) doubt();  // an extended wildcard, if they are on
    if (frame_->in_word && !frame_->word.empty() && frame_->word.back() == unknown) doubt();
    if (peek(1) == '(') frame_->has_arithmetic = true;
    ++frame_->open;
  }

  // ── words ──
  void read_word_part() {
    const char c = text_[at_++];
    switch (c) {
      case '\\': return read_escape();
      case '\'': return read_single_quotes();
      case '"': return read_double_quotes();
      case '`': return read_backticks(false);
      case '$': return read_dollar(false);
      case '*':
      case '?': return put(unknown);
      case '[':
      case '{': return read_opening(c);
      default: put(c);
    }
  }

  void read_escape() {
    if (at_end()) return doubt();
    const char c = text_[at_++];
    if (c == '\n') return;  // the line continues
    frame_->is_quoted = true;
    put(c);
  }

  void read_single_quotes() {
    const auto end = text_.find('\'', at_);
    frame_->in_word = frame_->is_quoted = true;
    if (end == std::string_view::npos) {
      at_ = text_.size();
      return doubt();
    }
    frame_->word += text_.substr(at_, end - at_);
    at_ = end + 1;
  }

  void read_double_quotes() {
    frame_->in_word = frame_->is_quoted = true;
    while (!at_end() && peek() != '"') read_quoted();
    if (at_end()) return doubt();
    ++at_;
  }

  void read_quoted() {
    const char c = text_[at_++];
    if (c == '$') return read_dollar(true);
    if (c == '`') return read_backticks(true);
    if (c == '\\' && is_in("$`\"\\\n", peek())) {
      if (at_end()) return doubt();
      if (const char escaped = text_[at_++]; escaped != '\n') put(escaped);
      return;
    }
    put(c);
  }

  // `[` and `{` are words of their own; within a word they begin what the shell will choose from.
  void read_opening(char c) {
    const bool is_doubled = c == '[' && peek() == '[';
    if (c == '{' && peek() == '}') return put(c);  // no choice, but a word of find and xargs
    const bool is_alone = !frame_->in_word && is_in(" \t\n", peek(is_doubled ? 1 : 0));
    if (!is_alone && frame_->unknown_from == std::string::npos) frame_->unknown_from = frame_->word.size();
    put(c);
    if (is_alone && is_doubled) put(text_[at_++]);
  }

  void read_backticks(bool in_quotes) {
    std::string inner;
    while (!at_end() && peek() != '`') {
      if (peek() == '\\' && (is_in("$`\\", peek(1)) || (in_quotes && peek(1) == '"'))) ++at_;
      inner += text_[at_++];
    }
    if (at_end()) return doubt();
    ++at_;
    Reader(inner, out_, depth_ + 1).read_line();
    put(unknown);
  }

  void read_dollar(bool in_quotes) {
    const char c = at_end() ? ' ' : peek();
    if (c == '(') {
      ++at_;
      read_nested();
    } else if (c == '{') {
      ++at_;
      read_parameter();
    } else if (c == '\'' && !in_quotes) {
      ++at_;
      read_escaping_quotes();
    } else if (c == '"' && !in_quotes) {
      ++at_;
      read_double_quotes();
    } else if (is_in(name_characters, c)) {
      while (!at_end() && is_in(name_characters, peek())) ++at_;
      put(unknown);
    } else if (is_in(special_parameters, c)) {
      ++at_;
      put(unknown);
    } else {
      if (c == '[') doubt();  // arithmetic of old
      put('$');
    }
  }

  void read_nested() {
    if (++depth_ > nesting_max) {
      at_ = text_.size();
      return doubt();
    }
    read_commands(Until::parenthesis);
    --depth_;
    put(unknown);
  }

  // ${…}: its value is unknown, but what it substitutes on the way is run.
  void read_parameter() {
    if (++depth_ > nesting_max || is_in(" \t\n|", peek())) {  // in some shells, commands
      at_ = depth_ > nesting_max ? text_.size() : at_;
      doubt();
    }
    while (!at_end() && peek() != '}') {
      const char c = text_[at_++];
      if (c == '$') {
        read_dollar(true);
      } else if (c == '`') {
        read_backticks(true);
      } else if (is_in("'\"\\", c)) {
        doubt();  // whether these quote here depends on what stands around
      }
    }
    --depth_;
    if (at_end()) return doubt();
    ++at_;
    put(unknown);
  }

  // $'…': what its escapes say is not worked out.
  void read_escaping_quotes() {
    frame_->in_word = frame_->is_quoted = true;
    std::string inner;
    bool has_escapes = false;
    while (!at_end() && peek() != '\'') {
      if (peek() == '\\') {
        has_escapes = true;
        ++at_;
      }
      if (!at_end()) inner += text_[at_++];
    }
    if (at_end()) return doubt();
    ++at_;
    has_escapes ? put(unknown) : void(frame_->word += inner);
  }

  void end_word() {
    auto& frame = *frame_;
    if (!frame.in_word) return;
    if (frame.unknown_from != std::string::npos) frame.word.replace(frame.unknown_from, std::string::npos, 1, unknown);
    const auto target = std::exchange(frame.target, Target::none);
    if (target == Target::document || target == Target::document_with_tabs) {
      if (is_in(frame.word, unknown)) doubt();
      frame.documents.push_back({frame.word, frame.is_quoted, target == Target::document_with_tabs});
    } else if (target == Target::none) {
      frame.words.push_back(std::move(frame.word));
    }
    frame.word.clear();
    frame.in_word = frame.is_quoted = false;
    frame.unknown_from = std::string::npos;
  }

  void end_command(Until until) {
    end_word();
    if (frame_->target != Target::none) doubt();
    frame_->target = Target::none;
    // One shell continues the command after `&>` and its file; to another, `&` ended it.
    if (frame_->words.size() > std::exchange(frame_->words_before_both, std::string::npos)) doubt();
    if (frame_->words.empty()) return;
    // Its patterns end in parentheses that nothing opened: they would be taken for the end of the substitution.
    if (until == Until::parenthesis && std::ranges::find(frame_->words, "case") != frame_->words.end()) doubt();
    if (out_.commands.size() < commands_max) {
      out_.commands.push_back(std::move(frame_->words));
    } else {
      doubt();
    }
    frame_->words.clear();
  }

  // ── redirections ──
  void read_redirection() {
    auto& frame = *frame_;
    if (peek(1) == '(' && peek() != '&') {  // <(…): a file's name
      at_ += 2;
      return read_nested();
    }
    const bool in_brackets = frame.unknown_from != std::string::npos;
    if (frame.word.find_first_not_of(digits) != std::string::npos || frame.is_quoted) {
      end_word();
    } else {  // the descriptor's number
      frame.word.clear();
      frame.in_word = false;
    }
    if (frame.target != Target::none) doubt();
    if (peek() == '&') frame.words_before_both = frame.words.size();
    const auto rest = text_.substr(at_);
    frame.target = Target::file;
    if (rest.starts_with("<<<")) {
      at_ += 3;
    } else if (rest.starts_with("<<")) {
      if (frame.has_arithmetic || in_brackets) doubt();  // these shift bits there, and no document follows
      at_ += 2;
      frame.target = peek() == '-' ? Target::document_with_tabs : Target::document;
      if (peek() == '-') ++at_;
    } else {
      while (!at_end() && is_in("<>&|", peek())) ++at_;
    }
    while (!at_end() && is_in(" \t", peek())) ++at_;
  }

  void read_documents() {
    for (const auto& document : std::exchange(frame_->documents, {})) read_document(document);
  }

  void read_document(const Document& document) {
    std::string body;
    while (!at_end()) {
      const auto end = std::min(text_.find('\n', at_), text_.size());
      auto line = text_.substr(at_, end - at_);
      at_ = std::min(end + 1, text_.size());
      if (document.strips_tabs) line.remove_prefix(std::min(line.find_first_not_of('\t'), line.size()));
      if (line == document.end) {
        if (!document.is_literal) Reader(body, out_, depth_ + 1).read_document();
        return;
      }
      if (line.ends_with('\\') && !document.is_literal) doubt();  // the next line is no end, whatever it says
      out_.documents.emplace_back(line);
      body.append(line) += '\n';
    }
    doubt();
  }

  std::string_view text_;
  ShellLine& out_;
  int depth_;
  std::size_t at_ = 0;
  Frame* frame_ = nullptr;
};

}  // namespace

ShellLine take_apart(std::string_view line) {
  ShellLine out;
  Reader(line, out, 0).read_line();
  return out;
}

}  // namespace sluice::gates
