// How one value may be written where it turns up again. Each spelling is what must be looked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::vault {

// Of base64 less, for there are many ways to break it into lines, and the head has to be looked for in each.
inline constexpr std::size_t base64_head_max = 32;

// A value written in one way, given a character at a time: all the ways of a long value together would be a hundred
// times its size. The value must outlive it.
class Spelling final {
 public:
  bool at_end() const { return at_ >= end_ && pending_at_ == pending_.size(); }
  char peek();              // the next character; not at the end
  char take();              // the same, and moves on to the one after it
  bool take_if(char byte);  // if it is this one; not at the end
  std::string rest();       // all that are left

  // What may follow it that holds a few of its bits or shows its length: a digit of base64, and padding.
  enum class Residue : uint8_t { none, padding, digit };
  Residue residue() const { return residue_; }
  bool is_base64() const { return way_ == Way::base64; }

 private:
  friend std::vector<Spelling> spellings_of(std::string_view value);
  enum class Way : uint8_t {
    plain,
    url,
    json,
    json_in_plain_json,  // written into another string as JSON.stringify does it
    json_in_json,        // written into another string in the same way
    html,
    hex,
    misread,
    latin_1,
    base64
  };

  Spelling(std::string_view value, Way way, std::size_t row, std::string_view digits)
      : value_(value), digits_(digits), end_(value.size()), row_(row), way_(way) {}
  static Spelling base64(std::string_view value, std::size_t before, std::string_view last_two);
  static Spelling base64_alone(std::string_view value, std::string_view last_two);
  // With a line end after so many of its digits.
  Spelling broken(std::size_t after, std::string_view line_end) const;

  static void add_base64(std::string_view value, std::vector<Spelling>& spellings);
  void add_next();
  static void leave_out_equal_ways(std::string_view value, std::vector<Spelling>& spellings);
  void add_base64_digit();

  std::string_view value_;
  std::string_view digits_;  // of base64, the last two
  std::string pending_;      // what the last step gave
  std::size_t pending_at_ = 0;
  std::size_t at_ = 0;  // in value_; of base64, the digit
  std::size_t end_ = 0;
  std::size_t row_ = 0;  // of the table of ways; of base64, how many bytes stand before
  Way way_ = Way::plain;
  Residue residue_ = Residue::none;
  std::size_t break_at_ = 0;  // the digit of base64 that a line end stands before; 0: none
  std::string_view line_end_;
};

// None shorter than value_bytes_min; some may be alike. White space around the value is no part of them: whatever holds
// the value holds the value without it.
std::vector<Spelling> spellings_of(std::string_view value);

}  // namespace sluice::vault
