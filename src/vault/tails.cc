#include "vault/tails.h"

#include <algorithm>

namespace sluice::vault {

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
