// What somebody who comes back to a stream asks for: from where on, and in which form.
#pragma once

#include "api/fields.h"
#include "api/request_context.h"
#include "wire/wire.h"

namespace sluice::api::integration {

// The last seq the caller has, from `after` or else Last-Event-ID; -1 when it has none.
int64_t read_after(const Asked& asked, Findings& findings);

// Server-sent events when the caller names them and likes nothing better; NDJSON otherwise.
wire::Format wanted_format(const Asked& asked);

enum class Follows : uint8_t {
  something,  // or the run is not over
  nothing,    // it was the last event
};
// Calls `then` when the run has told an event with number `seq`; otherwise the caller is told that
// it has not, before a stream begins.
void find_event(const Asked& asked, const model::Run& run, int64_t seq, Callback<void(Follows)> then);

}  // namespace sluice::api::integration
