// expect: ignoring return value of function declared with 'nodiscard' attribute
//
// A failure that nobody looks at.
#include "base/result.h"

namespace sluice {
Result<Unit> save() { return Unit{}; }
void forgets() { save(); }
}  // namespace sluice
