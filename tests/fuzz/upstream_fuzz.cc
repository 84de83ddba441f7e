// Answers of hosts that a sandbox may reach: refused, or a head and a body that are the same however their bytes are
// cut.
#include <optional>

#include "base/check.h"
#include "http/body.h"
#include "http/head_parser.h"
#include "tests/fuzz/pieces.h"

using namespace sluice;
using namespace sluice::http;

namespace {

constexpr HeadLimits small{
    .line_bytes_max = 128, .header_bytes_max = 256, .header_count_max = 8, .head_bytes_max = 300};

// Reads one answer to a request with that method.
class Answer {
 public:
  explicit Answer(std::string_view method) : method_(method) {}

  void feed(std::string_view bytes) {
    if (!reader_) {
      bytes.remove_prefix(parser_.feed(bytes));
      if (parser_.done()) begin_body();
    }
    if (!reader_) return;
    for (auto payload = reader_->next(bytes); !payload.empty(); payload = reader_->next(bytes)) body_ += payload;
    if (plan_.framing == Framing::length) SLUICE_CHECK(body_.size() <= plan_.length);
  }
  std::string outcome() {
    if (parser_.fault()) return "refused " + std::to_string(static_cast<int>(parser_.fault()->kind));
    if (!reader_) return parser_.done() ? "in doubt" : "unfinished";
    if (!reader_->done() && !reader_->broken()) reader_->end();
    SLUICE_CHECK(reader_->done() || reader_->broken());
    return reader_->broken() ? "broken" : body_ + ".";
  }

 private:
  void begin_body() {
    const ResponseHead& head = parser_.head();
    SLUICE_CHECK(head.status >= 100 && head.status <= 599 && head.headers.all().size() <= small.header_count_max);
    for (const auto& field : head.headers.all()) {
      SLUICE_CHECK(field.name.find_first_of("\r\n: ") == std::string::npos);
      SLUICE_CHECK(field.value.find_first_of("\r\n") == std::string::npos);
    }
    if (plan_body(head, method_, plan_)) return;
    SLUICE_CHECK(method_ != "HEAD" || plan_.framing == Framing::none);
    reader_.emplace(plan_);
  }

  const std::string_view method_;
  HeadParser<ResponseHead> parser_{small};
  BodyPlan plan_;
  std::optional<BodyReader> reader_;
  std::string body_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const auto text = fuzz::text_of(data, size);
  for (const std::string_view method : {"GET", "HEAD"}) {
    Answer whole(method);
    whole.feed(text);
    Answer cut(method);
    fuzz::each_piece(text, [&](std::string_view piece) { cut.feed(piece); });
    SLUICE_CHECK(whole.outcome() == cut.outcome());
  }
  return 0;
}
