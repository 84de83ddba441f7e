// Where the body of an HTTP/1 message ends: decided from its head, without doubt or not at all, and
// then followed byte by byte. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "egress/head_parser.h"

namespace sluice::egress {

enum class Framing : uint8_t { none, length, chunked, until_close };

struct BodyPlan {
  Framing framing = Framing::none;
  uint64_t length = 0;  // of Framing::length
};

std::optional<Refusal> plan_body(const RequestHead& head, BodyPlan& out);
// Of the answer to a request with that method.
std::optional<Refusal> plan_body(const ResponseHead& head, std::string_view method, BodyPlan& out);

// Takes the payload out of its framing.
class BodyReader {
 public:
  explicit BodyReader(BodyPlan plan);

  // The next piece of payload, a view into `bytes`, whose front loses all that was read. Empty: `bytes` is used up, or
  // the body is done or broken; what follows the body stays in `bytes`.
  std::string_view next(std::string_view& bytes);
  // Nothing more comes: is that an end, or a breach?
  void end();

  bool done() const { return stage_ == Stage::done; }
  bool broken() const { return stage_ == Stage::broken; }

 private:
  enum class Stage : uint8_t { counted, open, chunk_size, chunk_data, chunk_end, trailer, done, broken };
  void take_line(std::string_view& bytes);
  void on_line(std::string_view line);
  void on_chunk_size(std::string_view line);
  std::string_view take_payload(std::string_view& bytes);

  Stage stage_;
  uint64_t left_ = 0;  // of the counted payload, or of the chunk
  std::string line_;   // so far
  std::size_t trailer_bytes_ = 0;
};

void append_chunk(std::string& out, std::string_view payload);
inline constexpr std::string_view last_chunk = "0\r\n\r\n";

}  // namespace sluice::egress
