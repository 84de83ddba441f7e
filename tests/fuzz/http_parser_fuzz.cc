// Requests from strangers: the same requests, and the same refusal, however the bytes are cut; never
// more taken than given, never more kept than the limits allow.
#include <optional>

#include "base/check.h"
#include "net/http_parser.h"
#include "tests/fuzz/pieces.h"

using namespace sluice;

namespace {

constexpr net::RequestLimits small = {.head = {.line_bytes_max = 64, .header_bytes_max = 256, .header_count_max = 8},
                                      .body_bytes_max = 64};

// Reads request after request from one connection.
class Connection {
 public:
  void feed(std::string_view bytes) {
    while (!bytes.empty() && !parser_.refused()) {
      const std::size_t taken = parser_.feed(bytes);
      SLUICE_CHECK(taken <= bytes.size());
      SLUICE_CHECK(taken > 0 || parser_.done() || parser_.refused());
      bytes.remove_prefix(taken);
      if (parser_.refused()) told_ += "refused " + std::to_string(parser_.refused()->status) + "\n";
      if (parser_.done()) tell(parser_.take());
    }
  }
  const std::string& told() const { return told_; }

 private:
  void tell(const net::Request& request) {
    SLUICE_CHECK(request.body.size() <= small.body_bytes_max);
    SLUICE_CHECK(request.headers.all().size() <= small.head.header_count_max);
    told_.append(request.method).append(" ").append(request.path).append("?").append(request.query).append("\n");
    for (const auto& header : request.headers.all()) {
      SLUICE_CHECK(header.name.find_first_of("\r\n\0: ") == std::string::npos);
      SLUICE_CHECK(header.value.find_first_of(std::string_view("\r\n\0", 3)) == std::string::npos);
      told_.append(header.name).append(": ").append(header.value).append("\n");
    }
    told_.append(request.body.view()).append("\n");
  }

  net::BodyRoom bodies_;
  net::RequestParser parser_{small, bodies_};
  std::string told_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const auto text = fuzz::text_of(data, size);
  Connection whole;
  whole.feed(text);
  Connection cut;
  fuzz::each_piece(text, [&](std::string_view piece) { cut.feed(piece); });
  SLUICE_CHECK(whole.told() == cut.told());
  return 0;
}
