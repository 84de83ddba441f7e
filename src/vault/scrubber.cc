// Takes values out of text, whole or in pieces. Of matches that overlap, the one that starts first wins; of those,
// the longest.
#include <algorithm>
#include <span>

#include "vault/automaton.h"

namespace sluice::vault {

std::string placeholder(std::string_view alias) { return "{{secret:" + std::string(alias) + "}}"; }

Scrubber::Scrubber(const std::vector<Secret>& secrets) : automaton_(std::make_unique<const Automaton>(secrets)) {}
Scrubber::~Scrubber() = default;

bool Scrubber::is_idle() const { return automaton_->is_idle(); }

bool Scrubber::finds(std::string_view text) const {
  auto state = Automaton::root;
  return std::ranges::any_of(text, [&](char byte) {
    state = automaton_->step(state, byte);
    return automaton_->match_in(state) != nullptr;
  });
}

// ── in pieces ──
struct ScrubStream::State {
  using Automaton = Scrubber::Automaton;

  const Automaton& automaton;
  std::shared_ptr<const Scrubber> keeps;  // the automaton alive
  std::string held;                       // read, not yet told
  std::size_t at = 0;                     // how much of `held` the automaton has seen
  Automaton::State state = Automaton::root;
  const Automaton::Pattern* found = nullptr;  // a match that an earlier or a longer one may still replace
  std::size_t found_at = 0;
  std::vector<Spelling> tails;  // of the match before: what the text may go on with

  explicit State(const Automaton& of) : automaton(of) {}

  std::string push(std::string_view piece) {
    held += piece;
    std::string told;
    std::size_t from = 0;
    while (at < held.size()) {
      if (state == Automaton::root && !found && tails.empty()) at = automaton.skip(held, at);
      if (at < held.size()) read(told, from);
    }
    const auto open_at = at - automaton.depth_of(state);
    tell(told, from, found ? std::min(found_at, open_at) : open_at);
    held.erase(0, from);
    at -= from;
    found_at -= found ? from : 0;
    return told;
  }

  std::string finish() {
    std::string told;
    std::size_t from = 0;
    while (found || at < held.size()) found ? settle(told, from) : read(told, from);
    tell(told, from, held.size());
    held.clear();
    tails.clear();
    at = 0;
    state = Automaton::root;
    return told;
  }

 private:
  void tell(std::string& told, std::size_t& from, std::size_t to) {
    if (to <= from) return;
    told.append(held, from, to - from);
    from = to;
  }

  // One byte further.
  void read(std::string& told, std::size_t& from) {
    const char byte = held[at];
    if (!tails.empty()) {
      for (auto tail = tails.begin(); tail != tails.end();) tail = tail->take() == byte ? tail + 1 : tails.erase(tail);
      if (!tails.empty()) {
        from = ++at;
        std::erase_if(tails, [](const Spelling& tail) { return tail.at_end(); });
        return;
      }
    }
    state = automaton.step(state, byte);
    ++at;
    const auto start = at - automaton.depth_of(state);
    if (found && start > found_at) return settle(told, from);
    const auto* match = automaton.match_in(state);
    if (!match) return;
    if (const auto match_at = at - match->size; !found || match_at <= found_at) {
      found = match;
      found_at = match_at;
      if (match_at == start && automaton.is_leaf(state)) settle(told, from);
    }
  }

  // What was found is final. Reading goes on right after it.
  void settle(std::string& told, std::size_t& from) {
    tell(told, from, found_at);
    told += automaton.placeholder_of(*found);
    from = at = found_at + found->size;
    tails = found->tails;
    state = Automaton::root;
    found = nullptr;
  }
};

ScrubStream::ScrubStream(std::shared_ptr<const Scrubber> scrubber)
    : state_(std::make_unique<State>(*scrubber->automaton_)) {
  state_->keeps = std::move(scrubber);
}
ScrubStream::~ScrubStream() = default;
ScrubStream::ScrubStream(ScrubStream&&) noexcept = default;
ScrubStream& ScrubStream::operator=(ScrubStream&&) noexcept = default;

std::string ScrubStream::push(std::string_view piece) {
  if (state_->automaton.is_idle()) return std::string(piece);
  return state_->push(piece);
}

std::string ScrubStream::finish() { return state_->finish(); }

bool ScrubStream::holds_back() const { return !state_->held.empty(); }

std::string Scrubber::scrub(std::string_view text) const {
  if (is_idle()) return std::string(text);
  ScrubStream stream(std::shared_ptr<const Scrubber>(std::shared_ptr<void>(), this));
  auto told = stream.push(text);
  return told += stream.finish();
}

}  // namespace sluice::vault
