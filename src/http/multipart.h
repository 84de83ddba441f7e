// Reads multipart/form-data (RFC 7578), strictly and within bounds: what two readers could understand
// differently is refused. Writes it too. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sluice::http {

struct Part {
  std::string name;
  std::optional<std::string> filename;
  std::string content_type;  // empty: none was given
  std::string_view bytes;    // into the body
};

struct MultipartLimits {
  std::size_t parts_max = 64;
  std::size_t head_bytes_max = 4 * 1024;  // of one part
};

bool is_multipart(std::string_view content_type);

// `content_type` is the request's, with its boundary. `invalid` says in words what is wrong. The
// parts must not outlive `body`.
Result<std::vector<Part>> read_multipart(std::string_view content_type, std::string_view body,
                                         const MultipartLimits& limits);

struct Multipart {
  std::string content_type;
  std::string body;
};

// `boundary` is made longer until no part contains it.
Multipart write_multipart(const std::vector<Part>& parts, std::string boundary);

}  // namespace sluice::http
