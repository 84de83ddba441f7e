#include "vault/automaton.h"

#include <openssl/crypto.h>

#include <algorithm>

#include "vault/spellings.h"

namespace sluice::vault {
namespace {

struct Spelling {
  std::string text;
  uint32_t alias = 0;
};

}  // namespace

Scrubber::Automaton::Automaton(const std::vector<Secret>& secrets) {
  std::vector<Spelling> spellings;
  for (const auto& secret : secrets) {
    const auto alias = static_cast<uint32_t>(placeholders_.size());
    placeholders_.push_back(placeholder(secret.alias));
    for (auto& text : spellings_of(secret.value)) spellings.push_back({std::move(text), alias});
  }
  std::ranges::stable_sort(spellings, {}, &Spelling::text);  // of equal ones, the first secret's comes first

  label_.push_back('\0');
  depth_.push_back(0);
  sibling_.push_back(0);
  match_.push_back(0);
  std::vector<State> path = {root};
  std::string_view before;
  for (const auto& [text, alias] : spellings) {
    const auto head = std::string_view(text).substr(0, head_bytes_max);
    if (head != before) {
      patterns_.push_back({alias, static_cast<uint32_t>(head.size()), {}});
      add(head, path);
      match_[path.back()] = static_cast<uint32_t>(patterns_.size());
    }
    before = head;
    auto& tails = patterns_.back().tails;
    auto tail = text.substr(head.size());
    if (!tail.empty() && (tails.empty() || tails.back() != tail)) tails.push_back(std::move(tail));
  }
  link();
  for (auto& spelling : spellings) OPENSSL_cleanse(spelling.text.data(), spelling.text.size());
}

Scrubber::Automaton::~Automaton() {
  OPENSSL_cleanse(label_.data(), label_.size());
  for (auto& pattern : patterns_) {
    for (auto& tail : pattern.tails) OPENSSL_cleanse(tail.data(), tail.size());
  }
}

// `path` is the way to the head added before, which sorts below this one; it becomes the way to this one.
void Scrubber::Automaton::add(std::string_view head, std::vector<State>& path) {
  std::size_t common = 0;
  while (common + 1 < path.size() && common < head.size() && label_[path[common + 1]] == head[common]) ++common;
  const State turned_from = common + 1 < path.size() ? path[common + 1] : 0;
  path.resize(common + 1);
  for (const char byte : head.substr(common)) {
    const auto state = static_cast<State>(label_.size());
    label_.push_back(byte);
    depth_.push_back(static_cast<uint16_t>(path.size()));
    sibling_.push_back(0);
    match_.push_back(0);
    path.push_back(state);
  }
  if (turned_from != 0) sibling_[turned_from] = path[common + 1];
}

// Breadth first, because a state's suffixes are all less deep than it.
void Scrubber::Automaton::link() {
  fail_.assign(label_.size(), root);
  for (State state = first_child(root); state != 0; state = sibling_[state]) {
    starts_[static_cast<uint8_t>(label_[state])] = state;
  }
  std::vector<State> by_depth(label_.size());
  for (State state = 0; state < by_depth.size(); ++state) by_depth[state] = state;
  std::ranges::stable_sort(by_depth, {}, [&](State state) { return depth_[state]; });
  for (const State state : by_depth) {
    if (match_[state] == 0) match_[state] = match_[fail_[state]];
    for (State next = first_child(state); next != 0; next = sibling_[next]) {
      fail_[next] = state == root ? root : step(fail_[state], label_[next]);
    }
  }
}

Scrubber::Automaton::State Scrubber::Automaton::first_child(State of) const {
  const State next = of + 1;
  return next < depth_.size() && depth_[next] == depth_[of] + 1 ? next : 0;
}

Scrubber::Automaton::State Scrubber::Automaton::child(State of, char byte) const {
  if (of == root) return starts_[static_cast<uint8_t>(byte)];
  State next = first_child(of);
  while (next != 0 && label_[next] != byte) next = sibling_[next];
  return next;
}

Scrubber::Automaton::State Scrubber::Automaton::step(State from, char byte) const {
  for (;;) {
    if (const State next = child(from, byte); next != 0) return next;
    if (from == root) return root;
    from = fail_[from];
  }
}

}  // namespace sluice::vault
