// expect: calling a private constructor of class 'sluice::journal::Committed'
//
// News that nobody wrote.
#include "journal/journal.h"

namespace sluice {
journal::Committed invents() { return journal::Committed({}, {1}); }
}  // namespace sluice
