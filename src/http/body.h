// Where the body of an HTTP/1 message ends: decided from its head, without doubt or not at all, and
// then followed byte by byte. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "http/head.h"
#include "http/lines.h"

namespace sluice::http {

// How the receiver finds the end of the body.
enum class Framing : uint8_t {
  none,         // there is no body
  length,       // Content-Length
  chunked,      // HTTP/1.1, length unknown
  until_close,  // HTTP/1.0, length unknown
};

struct BodyPlan {
  Framing framing = Framing::none;
  uint64_t length = 0;  // of Framing::length; UINT64_MAX: too large to be counted
};

std::optional<Fault> plan_body(const RequestHead& head, BodyPlan& out);
// Of the answer to a request with that method.
std::optional<Fault> plan_body(const ResponseHead& head, std::string_view method, BodyPlan& out);

struct BodyLimits {
  uint64_t payload_bytes_max = UINT64_MAX;  // of all chunks together
  // Of all chunks together: a sender could add hundreds of bytes to each byte of payload.
  std::size_t extension_bytes_max = 64 * 1024;
  std::size_t trailer_bytes_max = 8 * 1024;  // lines without their ends
  std::size_t trailer_count_max = 200;
};

// Takes the payload out of its framing.
class BodyReader {
 public:
  // `tally` counts the fields of the head, if trailers share their limits with it.
  explicit BodyReader(BodyPlan plan, const BodyLimits& limits = {}, HeaderTally tally = {});

  // The next piece of payload, a view into `bytes`, whose front loses all that was read. Empty: `bytes` is used up, or
  // the body is done or broken; what follows the body stays in `bytes`.
  std::string_view next(std::string_view& bytes);
  // Nothing more comes: decides whether that is an end or a breach.
  void end();

  bool done() const { return stage_ == Stage::done; }
  bool broken() const { return stage_ == Stage::broken; }
  const Fault& fault() const { return fault_; }  // of a broken one

 private:
  enum class Stage : uint8_t { counted, open, chunk_size, chunk_data, chunk_end, trailer, done, broken };
  void breaks(Fault fault);
  std::size_t line_room() const;
  void take_line(std::string_view& bytes);
  void refuse_overlong();
  void on_line(std::string_view line);
  void on_chunk_size(std::string_view line);
  void on_trailer(std::string_view line);
  std::string_view take_payload(std::string_view& bytes);

  BodyLimits limits_;  // what is left of it, for payload and extensions
  HeaderTally tally_;
  Lines lines_;
  Fault fault_;
  uint64_t left_ = 0;  // of the counted payload, or of the chunk
  Stage stage_;
};

void append_chunk(std::string& out, std::string_view payload);
inline constexpr std::string_view last_chunk = "0\r\n\r\n";

}  // namespace sluice::http
