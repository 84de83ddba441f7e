// What looks for all spellings of all secrets at once: an Aho-Corasick automaton.
//
// Its states are numbered in the order of a walk through the sorted spellings, so that a state's first child is the
// state after it and a long spelling costs a few bytes a character. Of a spelling longer than `head_bytes_max` only
// the head is in the automaton; the tail is compared as the text goes on. So the automaton stays small, no more than
// a head is ever held back, and a text with most of a long value does not get through.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vault/spellings.h"
#include "vault/vault.h"

namespace sluice::vault {

// What may follow the head of a long value: all tails of one head, merged where they are alike, so that following them
// costs one step a byte, however many there are. A trie whose edges are not text but the spelling that gives it.
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

inline constexpr std::size_t head_bytes_max = 512;

struct Scrubber::Automaton {
  using State = uint32_t;
  static constexpr State root = 0;

  struct Pattern {
    uint32_t alias = 0;
    uint32_t size = 0;
    bool is_marker = false;                               // a placeholder: it stands for itself
    Spelling::Residue residue = Spelling::Residue::none;  // after it, when no tail follows
    // What may follow, if this is the head of something longer; null: nothing. In base64 line ends are overlooked.
    std::unique_ptr<Tails> tails;
    std::unique_ptr<Tails> base64_tails;
  };

  explicit Automaton(const std::vector<Secret>& secrets);
  ~Automaton();
  Automaton(const Automaton&) = delete;
  Automaton& operator=(const Automaton&) = delete;

  State step(State from, char byte) const;
  std::size_t depth_of(State state) const { return depth_[state]; }
  bool is_leaf(State state) const { return first_child(state) == 0; }
  // The longest pattern that ends in this state; null: none.
  const Pattern* match_in(State state) const { return match_[state] == 0 ? nullptr : &patterns_[match_[state] - 1]; }
  const std::string& placeholder_of(const Pattern& pattern) const { return placeholders_[pattern.alias]; }
  bool is_idle() const { return patterns_.empty(); }
  std::size_t size_bytes() const;
  // From `at` on, in the root: a place at or before the next one where a spelling can begin. Looks at a few bytes
  // of the text only, as Wu and Manber do.
  std::size_t skip(std::string_view text, std::size_t at) const;

 private:
  void add(std::string_view head, std::vector<State>& path);
  void link();
  void measure_leap(std::string_view head);
  State child(State of, char byte) const;
  State first_child(State of) const;

  std::vector<std::string> values_;
  std::vector<std::string> placeholders_;
  std::vector<Pattern> patterns_;
  // Of each state:
  std::string label_;                // the byte that leads to it
  std::vector<uint16_t> depth_;      // how many lead to it
  std::vector<State> sibling_;       // the next child of its parent; 0: none
  std::vector<State> fail_;          // the state of its longest proper suffix
  std::vector<uint32_t> match_;      // 1 + the index in patterns_; 0: none
  std::array<State, 256> starts_{};  // the children of the root
  std::size_t window_ = 0;           // the size of the shortest head
  std::vector<uint8_t> leaps_;       // by the last two bytes of a window: how far it can move on
};

}  // namespace sluice::vault
