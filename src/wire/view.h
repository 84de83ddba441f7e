// Which surface a run's journal is shown on, to whom, and from where.
#pragma once

#include <cstdint>

namespace sluice::wire {

// Which surface, and how its events are framed.
enum class Format : uint8_t {
  ndjson,       // the Integration API's events (I-6), one a line
  sse,          // the same, one a frame
  full_ndjson,  // with what the run does besides: log, reasoning, usage, step, output, file, diff, custom, egress
  full_sse,
  trace,           // the runner's lines (S-9): log, step, result, error
  extended_trace,  // with everything else
  assistant,       // the Assistant's frames, for a browser
  // AG-UI, for each kind of peer (docs/agui.md), as SSE and one a line.
  agui_sse,  // a client of AG-UI 1.0
  agui_ndjson,
  agui_old_sse,  // a client of before 1.0
  agui_old_ndjson,
  agui_tanstack_sse,
  agui_tanstack_ndjson,
};
inline constexpr int format_count = 13;
constexpr bool is_agui(Format format) { return format >= Format::agui_sse; }
constexpr bool is_sse(Format format) {
  return format == Format::sse || format == Format::full_sse || format == Format::assistant ||
         format == Format::agui_sse || format == Format::agui_old_sse || format == Format::agui_tanstack_sse;
}
constexpr bool is_full(Format format) { return format == Format::full_ndjson || format == Format::full_sse; }
constexpr bool is_trace(Format format) { return format == Format::trace || format == Format::extended_trace; }

// What one reader wants to see.
struct View {
  Format format = Format::ndjson;
  int64_t after = -1;  // lines up to and including it are left out; -1: none is
  // AG-UI only. A run that waits for a human ends there for an AG-UI client, and goes on as another one: the first is
  // 0, and each `resumed` begins the next.
  int64_t segment = 0;
};

}  // namespace sluice::wire
