// Where a client resumes a stream, and in which format.
#pragma once

#include "api/request/reading.h"
#include "api/request/request_context.h"
#include "wire/wire.h"

namespace sluice::api {

struct StreamPosition {
  wire::Format format = wire::Format::ndjson;
  int64_t after = -1;  // the last seq that the client has, from `after` or else Last-Event-ID; -1: none
};
// Server-sent events if the client prefers them, NDJSON otherwise; with `detail=full`, everything that the run does.
StreamPosition read_stream_position(const RequestPtr& request, Findings& findings);
// The lines of runners; with `profile=extended`, all of them.
StreamPosition read_trace_position(const RequestPtr& request, Findings& findings);
// The last seq that the client has: `after` of the query, or else Last-Event-ID; -1: none.
int64_t read_after(const RequestPtr& request, const Query& query, Findings& findings);
// The format, or its full form if the query asks for it.
wire::Format read_detail(const Query& query, wire::Format format);

enum class Follows : uint8_t {
  something,  // an event follows, or the run is not over
  nothing,    // the client has the last event
};
// Calls `then` if the run has an event with that number. Otherwise answers that it does not, before a stream begins.
void find_event(const RequestPtr& request, const model::Run& run, StreamPosition position,
                Callback<void(Follows)> then);

}  // namespace sluice::api
