// What may follow the head of a long value: all tails of one head, merged where they are alike, so that following them
// costs one step a byte, however many there are. A trie whose edges are not text but the spelling that gives it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "vault/spellings.h"

namespace sluice::vault {

class Tails final {
 public:
  // Not at its end. Its value must outlive this.
  void add(Spelling tail);
  bool empty() const { return first_.empty(); }
  std::size_t size_bytes() const;

  // How far a text has followed them.
  class Cursor {
   public:
    explicit Cursor(const Tails& tails) : tails_(&tails) {}

    // If one of them continues with it; otherwise this does not change.
    bool take_if(char byte);
    // True if none continues from here.
    bool is_over() const;
    // The greatest of those that end here.
    Spelling::Residue residue() const;

   private:
    bool at_edge_end() const;

    const Tails* tails_;
    uint32_t node_ = none;
    std::size_t taken_ = 0;         // of the node's edge
    std::optional<Spelling> text_;  // the rest of it
  };

 private:
  static constexpr uint32_t none = std::numeric_limits<uint32_t>::max();
  static constexpr std::size_t to_end = std::numeric_limits<std::size_t>::max();
  using Edges = std::vector<std::pair<char, uint32_t>>;  // by the first byte

  struct Node {
    Spelling text;              // its edge begins with what this gives
    std::size_t size = to_end;  // how much of it; to_end: all, and nothing follows
    bool ends = true;           // a tail ends with the edge
    Spelling::Residue residue = Spelling::Residue::none;
    Edges next;
  };

  static uint32_t find(const Edges& edges, char byte);
  Edges& after(uint32_t node) { return node == none ? first_ : nodes_[node].next; }
  uint32_t add_leaf(const Spelling& text);
  bool follow(uint32_t node, Spelling& tail);
  void split(uint32_t node, std::size_t size, Spelling& rest);

  Edges first_;
  std::vector<Node> nodes_;
};

}  // namespace sluice::vault
