// A run on its way to a caller: as a stream while it happens, or as one answer when it is over.
#pragma once

#include "api/request_context.h"
#include "wire/wire.h"

namespace sluice::api::integration {

enum class StreamEnd : uint8_t {
  complete,
  caller_left,
  lost,  // the journal could not be read on, or the server stops
};

struct StreamOpening {
  model::Run run;
  wire::Format format = wire::Format::ndjson;
  int64_t after = -1;  // the last seq the caller has
  bool replayed = false;
  int64_t segment = 0;   // of an AG-UI view
  net::Headers headers;  // besides those of every stream
  bool leaves_at_half_close = false;
  Callback<void(StreamEnd)> ended = nullptr;  // once, when nothing more is told
};

// 200, then the lines. When the caller leaves, the stream ends and the run does not (I-8).
void open_stream(const Asked& asked, StreamOpening opening);

// Waits, then 201 and the message, or the problem with its own status (I-20).
void answer_at_end(const Asked& asked, const engine::Sent& sent);

}  // namespace sluice::api::integration
