// expect: no viable conversion from returned value of type 'const Id<MessageKind>'
//
// One kind of name for another.
#include "model/model.h"

namespace sluice {
model::RunId confuses(const model::Run& run) { return run.message_id; }
}  // namespace sluice
