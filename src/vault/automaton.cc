#include "vault/automaton.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <optional>

namespace sluice::vault {
namespace {

struct Head {
  std::string text;
  uint32_t alias = 0;
  std::optional<Spelling> tail;  // of a placeholder there is none
};

Head head_of(const Spelling& spelling, uint32_t alias) {
  Head head{"", alias, spelling};
  const auto size_max = spelling.is_base64() ? base64_head_max : head_bytes_max;
  while (head.text.size() < size_max && !head.tail->at_end()) head.text += head.tail->take();
  return head;
}

std::size_t size_of(const Head& head) { return head.text.size(); }

// The byte at `end` and the one before it.
std::size_t pair_of(std::string_view text, std::size_t end) {
  return std::size_t{static_cast<uint8_t>(text[end - 1])} << 8 | static_cast<uint8_t>(text[end]);
}

}  // namespace

Scrubber::Automaton::Automaton(const std::vector<Secret>& secrets) {
  std::vector<Head> heads;
  values_.reserve(secrets.size());  // spellings point into it
  for (const auto& secret : secrets) {
    const auto alias = static_cast<uint32_t>(placeholders_.size());
    placeholders_.push_back(placeholder(secret.alias));
    values_.push_back(secret.value);
    const auto spellings = spellings_of(values_.back());
    const auto first = heads.size();
    for (const auto& spelling : spellings) {
      auto head = head_of(spelling, alias);
      // Most ways change nothing of most values.
      const bool is_plain = heads.size() > first && head.tail->at_end() && head.text == heads[first].text;
      if (!is_plain) heads.push_back(std::move(head));
    }
    // Else a value that stands in placeholders would be replaced in each of them, again and again.
    if (!spellings.empty()) heads.push_back({placeholders_.back(), alias, {}});
  }
  std::ranges::stable_sort(heads, {}, &Head::text);  // of equal ones, the first secret's comes first

  label_.push_back('\0');
  depth_.push_back(0);
  sibling_.push_back(0);
  match_.push_back(0);
  std::vector<State> path = {root};
  std::string_view before;
  for (const auto& [text, alias, tail] : heads) {
    if (text != before) {
      patterns_.push_back(Pattern{.alias = alias, .size = static_cast<uint32_t>(text.size())});
      add(text, path);
      match_[path.back()] = static_cast<uint32_t>(patterns_.size());
    }
    before = text;
    auto& pattern = patterns_.back();
    if (!tail) {
      pattern = Pattern{.alias = alias, .size = pattern.size, .is_marker = true};
    } else if (!pattern.is_marker && !tail->at_end()) {
      auto& tails = tail->is_base64() ? pattern.base64_tails : pattern.tails;
      if (!tails) tails = std::make_unique<Tails>();
      tails->add(*tail);
    } else if (!pattern.is_marker) {
      pattern.residue = std::max(pattern.residue, tail->residue());
    }
  }
  link();
  if (!heads.empty()) window_ = std::min<std::size_t>(255, std::ranges::min(heads, {}, size_of).text.size());
  if (window_ >= 2) leaps_.assign(std::size_t{1} << 16, static_cast<uint8_t>(window_ - 1));
  for (const auto& head : heads) measure_leap(head.text);
  for (auto& head : heads) OPENSSL_cleanse(head.text.data(), head.text.size());
}

Scrubber::Automaton::~Automaton() {
  OPENSSL_cleanse(label_.data(), label_.size());
  OPENSSL_cleanse(leaps_.data(), leaps_.size());
  for (auto& value : values_) OPENSSL_cleanse(value.data(), value.size());
}

std::size_t Scrubber::Automaton::size_bytes() const {
  const auto a_state = sizeof(char) + sizeof(uint16_t) + 2 * sizeof(State) + sizeof(uint32_t);
  std::size_t bytes = sizeof *this + label_.size() * a_state + leaps_.size() + patterns_.size() * sizeof(Pattern);
  for (const auto& value : values_) bytes += value.size();
  for (const auto& pattern : patterns_) {
    for (const auto* const tails : {pattern.tails.get(), pattern.base64_tails.get()}) {
      if (tails != nullptr) bytes += tails->size_bytes();
    }
  }
  return bytes;
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

void Scrubber::Automaton::measure_leap(std::string_view head) {
  for (std::size_t end = 1; end < window_; ++end) {
    auto& leap = leaps_[pair_of(head, end)];
    leap = std::min(leap, static_cast<uint8_t>(window_ - 1 - end));
  }
}

std::size_t Scrubber::Automaton::skip(std::string_view text, std::size_t at) const {
  if (leaps_.empty()) return at;
  std::size_t end = at + window_ - 1;
  while (end < text.size()) {
    const auto leap = leaps_[pair_of(text, end)];
    if (leap == 0) break;
    end += leap;
  }
  return end - (window_ - 1);
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

uint32_t Tails::find(const Edges& edges, char byte) {
  const auto found = std::ranges::lower_bound(edges, byte, {}, &Edges::value_type::first);
  return found == edges.end() || found->first != byte ? none : found->second;
}

uint32_t Tails::add_leaf(const Spelling& text) {
  nodes_.push_back({.text = text, .size = to_end, .ends = true, .residue = text.residue(), .next = {}});
  return static_cast<uint32_t>(nodes_.size() - 1);
}

void Tails::add(Spelling tail) {
  for (uint32_t at = none;;) {
    const char byte = tail.peek();
    const uint32_t next = find(after(at), byte);
    if (next == none) {
      const uint32_t leaf = add_leaf(tail);
      auto& edges = after(at);
      edges.insert(std::ranges::lower_bound(edges, byte, {}, &Edges::value_type::first), {byte, leaf});
      return;
    }
    if (!follow(next, tail)) return;
    at = next;
  }
}

// Along the node's edge, which is split where the tail ends or leaves it. False: the tail ended.
bool Tails::follow(uint32_t node, Spelling& tail) {
  Spelling text = nodes_[node].text;
  std::size_t size = 0;
  for (;;) {
    const bool is_leaf = nodes_[node].size == to_end;
    const bool over = is_leaf ? text.at_end() : size == nodes_[node].size;
    if (over && is_leaf && !tail.at_end()) nodes_[node].size = size;  // it continues after what ends here
    if (!over && (tail.at_end() || text.peek() != tail.peek())) split(node, size, text);
    if (tail.at_end()) {
      auto& its = nodes_[node];
      its.residue = its.ends ? std::max(its.residue, tail.residue()) : tail.residue();
      its.ends = true;
      return false;
    }
    if (size == nodes_[node].size) return true;
    text.take();
    tail.take();
    ++size;
  }
}

// `rest`: what the edge gives after so much of it.
void Tails::split(uint32_t node, std::size_t size, Spelling& rest) {
  const char byte = rest.peek();
  const uint32_t lower = add_leaf(rest);
  auto& upper = nodes_[node];
  auto& its = nodes_[lower];
  if (upper.size != to_end) its.size = upper.size - size;
  its.ends = upper.ends;
  its.residue = upper.residue;
  its.next = std::move(upper.next);
  upper.size = size;
  upper.ends = false;
  upper.residue = Spelling::Residue::none;
  upper.next = {{byte, lower}};
}

std::size_t Tails::size_bytes() const {
  std::size_t bytes = sizeof *this + nodes_.capacity() * sizeof(Node) + first_.capacity() * sizeof(Edges::value_type);
  for (const auto& node : nodes_) bytes += node.next.capacity() * sizeof(Edges::value_type);
  return bytes;
}

bool Tails::Cursor::at_edge_end() const {
  if (node_ == none) return true;
  const auto size = tails_->nodes_[node_].size;
  return size == to_end ? text_->at_end() : taken_ == size;
}

bool Tails::Cursor::take_if(char byte) {
  if (!at_edge_end()) {
    if (!text_->take_if(byte)) return false;
    ++taken_;
    return true;
  }
  const uint32_t next = find(node_ == none ? tails_->first_ : tails_->nodes_[node_].next, byte);
  if (next == none) return false;
  node_ = next;
  text_ = tails_->nodes_[next].text;
  text_->take();
  taken_ = 1;
  return true;
}

bool Tails::Cursor::is_over() const {
  return at_edge_end() && (node_ == none ? tails_->first_ : tails_->nodes_[node_].next).empty();
}

Spelling::Residue Tails::Cursor::residue() const {
  if (node_ == none || !at_edge_end() || !tails_->nodes_[node_].ends) return Spelling::Residue::none;
  return tails_->nodes_[node_].residue;
}

}  // namespace sluice::vault
