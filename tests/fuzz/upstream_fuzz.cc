// Answers of hosts that a box may reach: refused, or a body that is the same body however its bytes are cut.
#include "base/check.h"
#include "egress/body_framing.h"
#include "tests/fuzz/pieces.h"

using namespace sluice;
using namespace sluice::egress;

namespace {

std::string payload_of(BodyPlan plan, std::string_view bytes, bool cut) {
  BodyReader reader(plan);
  std::string out;
  const auto feed = [&](std::string_view piece) {
    while (true) {
      const auto payload = reader.next(piece);
      if (payload.empty()) break;
      out += payload;
    }
  };
  cut ? fuzz::each_piece(bytes, feed) : feed(bytes);
  if (plan.framing == Framing::length) SLUICE_CHECK(out.size() <= plan.length);
  if (!reader.done() && !reader.broken()) reader.end();
  SLUICE_CHECK(reader.done() || reader.broken());
  return reader.broken() ? "broken" : out + ".";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const auto text = fuzz::text_of(data, size);
  const auto end = head_size(text);
  if (!end) return 0;
  ResponseHead head;
  if (const auto refused = parse_head(text.substr(0, *end), head)) return 0;
  SLUICE_CHECK(head.status >= 100 && head.status <= 999 && head.fields.all().size() <= field_count_max);
  for (const auto& field : head.fields.all()) {
    SLUICE_CHECK(field.name.find_first_of("\r\n: ") == std::string::npos);
    SLUICE_CHECK(field.value.find_first_of("\r\n") == std::string::npos);
  }
  for (const std::string_view method : {"GET", "HEAD"}) {
    BodyPlan plan;
    if (plan_body(head, method, plan)) continue;
    SLUICE_CHECK(method != "HEAD" || plan.framing == Framing::none);
    SLUICE_CHECK(payload_of(plan, text.substr(*end), false) == payload_of(plan, text.substr(*end), true));
  }
  return 0;
}
