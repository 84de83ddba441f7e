// Hosts, ports and addresses that a box names, and ranges that an operator does: one spelling each, and an address that
// is forbidden stays so however it is written.
#include "base/addresses.h"
#include "base/check.h"
#include "egress/destination.h"
#include "tests/fuzz/pieces.h"

using namespace sluice;
using namespace sluice::egress;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const auto text = fuzz::text_of(data, size);
  if (const auto address = parse_address(text)) {
    const auto again = parse_address(address->text());
    SLUICE_CHECK(again && *again == *address);
    if (!address->is_v6) {  // inside an IPv6 address it is the same
      const auto mapped = parse_address("::ffff:" + address->text());
      SLUICE_CHECK(mapped && why_forbidden(*mapped).empty() == why_forbidden(*address).empty());
    }
  }
  if (const auto range = parse_range(text)) {
    SLUICE_CHECK(range->bits >= 0 && range->bits <= (range->base.is_v6 ? 128 : 32));
    SLUICE_CHECK(range->holds(range->base));
  }
  Destination to;
  if (parse_authority(text, 443, to)) return 0;
  SLUICE_CHECK(!to.host.empty() && to.port > 0 && to.port <= 65535);
  for (const char c : to.host) SLUICE_CHECK(c > ' ' && c < 0x7f && !(c >= 'A' && c <= 'Z'));
  SLUICE_CHECK(to.is_address == parse_address(to.host).has_value());
  Destination again;
  SLUICE_CHECK(!parse_authority(to.authority(), to.tls ? 443 : 80, again));
  SLUICE_CHECK(again.host == to.host && again.port == to.port);
  return 0;
}
