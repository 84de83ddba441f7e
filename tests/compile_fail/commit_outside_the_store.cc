// expect: 'committed' is a protected member of 'sluice::journal::Journal'
//
// The other way to invent news.
#include "journal/journal.h"

namespace sluice {
journal::CommittedBatch invents() { return journal::Journal::committed({}, {1}); }
}  // namespace sluice
