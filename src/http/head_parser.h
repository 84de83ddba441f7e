// Reads the head of one HTTP/1 message from bytes. Pure: no socket, no clock.
//
// Where the bytes are split makes no difference to the result.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "http/head.h"
#include "http/lines.h"

namespace sluice::http {

// Of a RequestHead or a ResponseHead.
template <typename Head>
class HeadParser final {
 public:
  // `limits` must outlive the parser.
  explicit HeadParser(const HeadLimits& limits) : limits_(&limits) {}

  // Reads from the front of `bytes` and returns how many it took: never beyond the empty line that ends the head.
  // Takes nothing once done() or failed.
  std::size_t feed(std::string_view bytes);

  bool started() const { return stage_ != Stage::line || lines_.begun(); }
  bool done() const { return stage_ == Stage::done; }
  const std::optional<Fault>& fault() const { return fault_; }

  // The head, once done(); until then what has come of it.
  Head& head() { return head_; }
  const Head& head() const { return head_; }
  const HeaderTally& tally() const { return tally_; }

 private:
  enum class Stage : uint8_t { line, fields, done, failed };

  void fail(Fault fault);
  std::size_t line_room() const;
  void take_line(std::string_view& bytes);
  void on_line(std::string_view line);
  void on_first_line(std::string_view line);
  void on_field(std::string_view line);

  const HeadLimits* limits_;
  Head head_;
  Lines lines_;
  HeaderTally tally_;
  std::optional<Fault> fault_;
  std::size_t line_bytes_ = 0;  // of all lines so far, with their ends
  Stage stage_ = Stage::line;
  bool skipped_blank_ = false;
};

extern template class HeadParser<RequestHead>;
extern template class HeadParser<ResponseHead>;

// Takes a line of a header section apart. `name` and `value` are views into it.
std::optional<Fault> split_field(std::string_view line, std::string_view& name, std::string_view& value);

}  // namespace sluice::http
