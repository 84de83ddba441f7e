// Answers of model providers, or of whoever pretends to be one: the same events however the bytes are
// cut, and nothing after the end.
#include "base/bytes.h"
#include "base/check.h"
#include "models/models.h"
#include "tests/fuzz/pieces.h"

using namespace sluice;
using Kind = models::ModelEvent::Kind;

namespace {

// What an answer amounts to. Where text is cut into deltas is the dialect's business.
struct Heard {
  std::string text, reasoning, calls, failure;
  bool over = false;

  void hear(const models::ModelEvent& event) {
    SLUICE_CHECK(!over);
    text += event.kind == Kind::text ? event.text : "";
    reasoning += event.kind == Kind::reasoning ? event.text : "";
    if (event.kind == Kind::tool_call) calls += event.call.id + event.call.name + event.call.arguments + "\n";
    if (event.kind == Kind::failure) failure = std::to_string(static_cast<int>(event.failure.failure_class));
    over = event.kind == Kind::stop || event.kind == Kind::failure;
  }
  bool operator==(const Heard&) const = default;
};

Heard listen(const models::Dialect& dialect, std::string_view bytes, bool whole) {
  const auto reader = dialect.reader();
  Heard heard;
  const auto feed = [&](std::string_view piece) {
    for (const auto& event : reader->feed(piece)) heard.hear(event);
  };
  if (whole) {
    feed(bytes);
  } else {
    fuzz::each_piece(bytes, feed);
  }
  if (const auto last = reader->end()) heard.hear(*last);
  SLUICE_CHECK(heard.over);
  return heard;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const auto text = fuzz::text_of(data, size);
  for (const auto name : {"anthropic", "openai-responses", "openai-chat"}) {
    const auto* dialect = models::find_dialect(name);
    SLUICE_CHECK(dialect != nullptr);
    const Heard whole = listen(*dialect, text, true);
    SLUICE_CHECK(whole == listen(*dialect, text, false));
    SLUICE_CHECK(!is_utf8(text) || (is_utf8(whole.text) && is_utf8(whole.reasoning)));
    for (const int status : {400, 401, 429, 500, 529}) (void)dialect->failure(status, text, text);
  }
  return 0;
}
