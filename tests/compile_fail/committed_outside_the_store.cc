// expect: calling a private constructor of class 'sluice::store::Committed'
//
// News that nobody wrote.
#include "store/store.h"

namespace sluice {
store::Committed invents() { return store::Committed({}, {1}); }
}  // namespace sluice
