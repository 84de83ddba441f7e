// A stranger's zip: refused, or at most as many bytes of the one file in it as were asked for.
#include "base/bytes.h"
#include "base/check.h"
#include "tests/fuzz/pieces.h"
#include "workspace/workspace.h"

using namespace sluice;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  constexpr std::size_t bytes_max = 64 * 1024;
  const auto read = workspace::read_from_zip(fuzz::text_of(data, size), "a.txt", bytes_max);
  if (read) SLUICE_CHECK(read.value().size() <= bytes_max);
  if (!read) SLUICE_CHECK(is_utf8(read.error().what));
  return 0;
}
