// expect: 'commit' is a protected member of 'sluice::store::Store'
//
// The other way to invent news.
#include "store/store.h"

namespace sluice {
store::Committed invents() { return store::Store::commit({}, {1}); }
}  // namespace sluice
