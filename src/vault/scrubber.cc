// Takes values out of text, whole or in pieces. Of matches that overlap, the one that starts first wins; of those,
// the longest.
#include <algorithm>
#include <optional>
#include <span>

#include "vault/automaton.h"

namespace sluice::vault {

std::string placeholder(std::string_view alias) { return "{{secret:" + std::string(alias) + "}}"; }

Scrubber::Scrubber(const std::vector<Secret>& secrets) : automata_({std::make_shared<const Automaton>(secrets)}) {}
Scrubber::Scrubber(Automata automata) : automata_(std::move(automata)) {}
Scrubber::~Scrubber() = default;

bool Scrubber::is_idle() const {
  return std::ranges::all_of(automata_, [](const auto& automaton) { return automaton->is_idle(); });
}

std::size_t Scrubber::size_bytes() const {
  std::size_t bytes = 0;
  for (const auto& automaton : automata_) bytes += automaton->size_bytes();
  return bytes;
}

namespace {

constexpr std::size_t line_end_bytes_max = 2;
constexpr std::size_t padding_max = 2;

bool is_line_end(char c) { return c == '\n' || c == '\r'; }

bool is_base64_digit(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '/' ||
         c == '-' || c == '_';
}

}  // namespace

// Looks first at what costs little: most texts have no match at all. A placeholder is one, but says nothing.
bool Scrubber::finds(std::string_view text) const {
  const bool matches = std::ranges::any_of(automata_, [&](const auto& automaton) {
    auto state = Automaton::root;
    return std::ranges::any_of(text, [&](char byte) {
      state = automaton->step(state, byte);
      return automaton->match_in(state) != nullptr;
    });
  });
  return matches && scrub(text) != text;
}

// ── in pieces ──
// With one automaton.
class ScrubStream::Pass {
 public:
  using Automaton = Scrubber::Automaton;

  const Automaton& automaton;
  std::string held;    // read, not yet emitted
  std::size_t at = 0;  // how much of `held` the automaton has seen
  Automaton::State state = Automaton::root;
  const Automaton::Pattern* found = nullptr;  // a match that an earlier or a longer one may still replace
  std::size_t found_at = 0;
  // Of the match before: what the text may go on with.
  std::optional<Tails::Cursor> tail;
  std::optional<Tails::Cursor> base64_tail;
  int64_t tail_steps = 0;
  // What is left out if it directly follows the match before, and is not itself the beginning of one. The digit before
  // a match, which holds up to four bits of the value too, is emitted: to know it in time, the last letter of every
  // piece would have to be held back, for any may come before a value.
  bool drops_digit = false;
  std::size_t drops_padding = 0;

  explicit Pass(const Automaton& of) : automaton(of) {}

  std::string push(std::string_view piece) {
    held += piece;
    std::string output;
    std::size_t from = 0;
    while (at < held.size()) {
      if (state == Automaton::root && !found && !in_tail()) at = automaton.skip(held, at);
      if (at < held.size()) read(output, from);
    }
    const auto open_at = in_tail() ? from : at - automaton.depth_of(state);
    emit(output, from, found ? std::min(found_at, open_at) : open_at);
    held.erase(0, from);
    at -= from;
    found_at -= found ? from : 0;
    return output;
  }

  std::string finish() {
    std::string output;
    std::size_t from = 0;
    while (found || at < held.size()) found ? settle(output, from) : read(output, from);
    emit(output, from, held.size());
    held.clear();
    leave_tail();
    at = 0;
    state = Automaton::root;
    expect_residue(Spelling::Residue::none);
    return output;
  }

 private:
  bool in_tail() const { return tail || base64_tail; }
  void leave_tail() {
    tail.reset();
    base64_tail.reset();
  }
  bool follow(std::optional<Tails::Cursor>& cursor, char byte) {
    if (!cursor) return false;
    ++tail_steps;
    return cursor->take_if(byte);
  }

  void expect_residue(Spelling::Residue residue) {
    drops_digit = residue == Spelling::Residue::digit;
    drops_padding = residue == Spelling::Residue::none ? 0 : padding_max;
  }

  void emit(std::string& output, std::size_t& from, std::size_t to) {
    while (from < to && (drops_digit || drops_padding > 0)) {
      const bool is_padding = held[from] == '=';
      if (is_padding ? drops_padding == 0 : !(drops_digit && is_base64_digit(held[from]))) {
        expect_residue(Spelling::Residue::none);
        break;
      }
      drops_digit = false;
      if (is_padding) --drops_padding;
      ++from;
    }
    if (to <= from) return;
    output.append(held, from, to - from);
    from = to;
  }

  // One byte further.
  void read(std::string& output, std::size_t& from) {
    if (in_tail()) return read_tail(from);
    state = automaton.step(state, held[at]);
    ++at;
    const auto start = at - automaton.depth_of(state);
    if (found && start > found_at) return settle(output, from);
    const auto* match = automaton.match_in(state);
    if (!match) return;
    if (const auto match_at = at - match->size; !found || match_at <= found_at) {
      found = match;
      found_at = match_at;
      if (match_at == start && automaton.is_leaf(state)) settle(output, from);
    }
  }

  // The line ends between `from` and `at` are emitted if the tail does not go on after them.
  void read_tail(std::size_t& from) {
    const char byte = held[at];
    const bool goes_on = follow(tail, byte);
    const bool base64_goes_on = follow(base64_tail, byte);
    if (!goes_on && !base64_goes_on) {
      tail.reset();
      if (base64_tail && is_line_end(byte) && at - from < line_end_bytes_max) return void(++at);
      leave_tail();
      at = from;
      return;
    }
    from = ++at;
    if (!goes_on) tail.reset();
    if (!base64_goes_on) base64_tail.reset();
    auto residue = Spelling::Residue::none;
    for (auto* const each : {&tail, &base64_tail}) {
      if (!*each) continue;
      residue = std::max(residue, (*each)->residue());
      if ((*each)->is_over()) each->reset();
    }
    expect_residue(residue);
  }

  // What was found is final. Reading continues right after it.
  void settle(std::string& output, std::size_t& from) {
    emit(output, from, found_at);
    output += automaton.placeholder_of(*found);
    from = at = found_at + found->size;
    leave_tail();
    if (found->tails) tail.emplace(*found->tails);
    if (found->base64_tails) base64_tail.emplace(*found->base64_tails);
    expect_residue(found->residue);
    state = Automaton::root;
    found = nullptr;
  }
};

struct ScrubStream::State {
  std::shared_ptr<const Scrubber> keeps;  // the automata alive
  std::vector<Pass> passes;               // each takes what the one before it gives
};

ScrubStream::ScrubStream(std::shared_ptr<const Scrubber> scrubber) : state_(std::make_unique<State>()) {
  for (const auto& automaton : scrubber->automata_) {
    if (!automaton->is_idle()) state_->passes.emplace_back(*automaton);
  }
  state_->keeps = std::move(scrubber);
}
ScrubStream::~ScrubStream() = default;
ScrubStream::ScrubStream(ScrubStream&&) noexcept = default;
ScrubStream& ScrubStream::operator=(ScrubStream&&) noexcept = default;

std::string ScrubStream::push(std::string_view piece) {
  std::string output(piece);
  for (auto& pass : state_->passes) output = pass.push(output);
  return output;
}

std::string ScrubStream::finish() {
  std::string output;
  for (auto& pass : state_->passes) {
    output = pass.push(output);
    output += pass.finish();
  }
  return output;
}

bool ScrubStream::holds_back() const {
  return std::ranges::any_of(state_->passes, [](const Pass& pass) { return !pass.held.empty(); });
}

int64_t ScrubStream::tail_steps() const {
  int64_t steps = 0;
  for (const auto& pass : state_->passes) steps += pass.tail_steps;
  return steps;
}

std::string Scrubber::scrub(std::string_view text) const {
  if (is_idle()) return std::string(text);
  ScrubStream stream(std::shared_ptr<const Scrubber>(std::shared_ptr<void>(), this));
  auto output = stream.push(text);
  return output += stream.finish();
}

}  // namespace sluice::vault
