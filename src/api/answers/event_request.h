// What somebody who comes back to a stream asks for: from where on, and in which form.
#pragma once

#include "api/request/reading.h"
#include "api/request/request_context.h"
#include "wire/wire.h"

namespace sluice::api {

struct Wanted {
  wire::Format format = wire::Format::ndjson;
  int64_t after = -1;  // the last seq the caller has, from `after` or else Last-Event-ID; -1: none
};
// Server-sent events when the caller names them and likes nothing better, NDJSON otherwise; with
// `detail=full`, everything that the run does.
Wanted read_wanted(const RequestPtr& request, Findings& findings);
// The runner's lines; `profile=extended` for all of them.
Wanted read_wanted_trace(const RequestPtr& request, Findings& findings);
// The last seq the caller has: `after` of the query, or else Last-Event-ID; -1: none.
int64_t read_after(const RequestPtr& request, const Query& query, Findings& findings);
// The format, or its full form if the query says so.
wire::Format read_detail(const Query& query, wire::Format format);

enum class Follows : uint8_t {
  something,  // or the run is not over
  nothing,    // it was the last event
};
// Calls `then` when the run has told an event with number `wanted.after`; otherwise the caller is told that
// it has not, before a stream begins.
void find_event(const RequestPtr& request, const model::Run& run, Wanted wanted, Callback<void(Follows)> then);

}  // namespace sluice::api
