// A runner gone mad: refused, or understood; the same however its bytes are cut, and what was
// understood can be said again and is then understood the same.
#include "base/check.h"
#include "dispatch/envelope.h"
#include "tests/fuzz/pieces.h"

using namespace sluice;

namespace {

struct Heard {
  std::string again;  // all lines, said by us
  bool refused = false;
  bool whole = false;
};

void say_again(std::string& out, const dispatch::Line& line) {
  if (const auto* event = std::get_if<model::RunEvent>(&line)) {
    dispatch::append_line(out, *event, dispatch::Profile::extended);
  } else if (const auto* result = std::get_if<dispatch::ResultLine>(&line)) {
    dispatch::append_result_line(out, result->message, result->usage, {}, dispatch::Profile::extended);
  } else {
    const auto& error = std::get<dispatch::ErrorLine>(line);
    dispatch::append_error_line(out, error.code, error.message, {});
  }
}

template <typename Cut>
Heard hear(std::string_view text, Cut cut) {
  dispatch::LineReader reader;
  Heard heard;
  cut(text, [&](std::string_view piece) {
    if (heard.refused) return;
    const auto lines = reader.feed(piece);
    heard.refused = !lines;
    if (!lines) return;
    for (const auto& line : lines.value()) say_again(heard.again, line);
  });
  heard.whole = static_cast<bool>(reader.end());
  return heard;
}

constexpr auto whole = [](std::string_view text, auto visit) { visit(text); };
constexpr auto pieces = [](std::string_view text, auto visit) { fuzz::each_piece(text, visit); };

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const auto text = fuzz::text_of(data, size);
  const auto once = hear(text, whole);
  const auto cut = hear(text, pieces);
  SLUICE_CHECK(once.refused == cut.refused && once.whole == cut.whole);
  if (once.refused) return 0;
  SLUICE_CHECK(once.again == cut.again);
  const auto twice = hear(once.again, whole);
  SLUICE_CHECK(!twice.refused && twice.again == once.again);
  return 0;
}
