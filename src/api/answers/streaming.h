// Answers about a run: a stream while it works, one answer when it is over, or the answer to its cancellation.
// Called from the loop's thread. Which lines a stream has is decided in wire, not here.
#pragma once

#include "api/request/request_context.h"
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

}  // namespace sluice::api
