// expect: no viable conversion from 'const model::RunEvent' to 'const journal::Committed'
//
// Told before it is written.
#include "wire/wire.h"

namespace sluice {
void tells_too_early(wire::IntegrationFold& fold, const model::RunEvent& event, std::string& out) {
  fold.apply(event, out);
}
}  // namespace sluice
