// Scrubbing: the same text however it is cut, and nothing left to find in what stood between values.
#include "base/check.h"
#include "tests/fuzz/pieces.h"
#include "vault/vault.h"

using namespace sluice;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  auto text = fuzz::text_of(data, size);
  // The first lines are values, up to an empty one.
  std::vector<vault::Secret> secrets;
  bool has_braces = false;  // such a value can be made anew by the placeholder after it
  while (!text.empty()) {
    const auto end = text.find('\n') < text.size() ? text.find('\n') : text.size();
    const auto line = text.substr(0, end);
    text.remove_prefix(end < text.size() ? end + 1 : end);
    if (line.empty()) break;
    has_braces |= line.find('{') < line.size();
    secrets.push_back({"K", std::string(line)});
  }
  const auto scrubber = std::make_shared<const vault::Scrubber>(secrets);
  const auto whole = scrubber->scrub(text);
  SLUICE_CHECK(scrubber->finds(text) || whole == text);
  std::string cut;
  vault::ScrubStream stream(scrubber);
  fuzz::each_piece(text, [&](std::string_view piece) { cut += stream.push(piece); });
  cut += stream.finish();
  SLUICE_CHECK(whole == cut);
  SLUICE_CHECK(has_braces || scrubber->scrub(whole) == whole);
  const auto mark = vault::placeholder("K");
  for (std::size_t at = 0; at <= whole.size();) {
    const auto next = whole.find(mark, at) < whole.size() ? whole.find(mark, at) : whole.size();
    SLUICE_CHECK(whole == text || !scrubber->finds(std::string_view(whole).substr(at, next - at)));
    at = next + mark.size();
  }
  return 0;
}
