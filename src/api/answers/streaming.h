// Answers about a run: a stream while it works, one answer when it is over, or the answer to its cancellation.
// Called from the loop's thread. Which lines a stream has is decided in wire, not here.
#pragma once

#include "api/request/reading.h"
#include "api/request/request_context.h"
#include "base/task.h"
#include "wire/wire.h"

namespace sluice::api {

enum class StreamEnd : uint8_t {
  complete,
  caller_left,
  lost,  // the journal cannot be read, or the server stops
};

struct StreamOpening {
  model::Run run;
  wire::Format format = wire::Format::ndjson;
  int64_t after = -1;  // the last seq that the client has
  bool replayed = false;
  int64_t segment = 0;   // of an AG-UI view
  net::Headers headers;  // in addition to those of every stream
  bool leaves_at_half_close = false;
  Callback<void(StreamEnd)> ended = nullptr;  // called once, after the last line
};

// Answers 200, then the lines. If the client disconnects, the stream ends and the run continues (I-8).
void open_stream(const RequestPtr& request, StreamOpening opening);

// Answers at the end of the run: 201 and the message, or the problem with its own status (I-20).
void answer_at_end(const RequestPtr& request, const engine::Sent& sent);

// Cancels the run of that tenant and answers with the run.
void cancel_run_of(const RequestPtr& request, model::TenantId tenant, model::RunId run);

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
// Finds out whether the run has an event with that number. Otherwise answers that it does not, before a stream begins.
Task<Follows> find_event(const RequestPtr& request, const model::Run& run, StreamPosition position);

// Calls `see` with every event after `after` until it returns false or there are no more, and gives the run as it is
// then. Answers the request if the journal cannot be read.
Task<model::Run> walk_journal(const RequestPtr& request, model::RunId run, model::Position after,
                              Callback<bool(const journal::Committed&)> see);
// The journal's first event, or none.
Task<journal::JournalPage> read_first_event(const RequestPtr& request, model::RunId run);

}  // namespace sluice::api
