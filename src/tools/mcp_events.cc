#include "tools/mcp_events.h"

#include <algorithm>
#include <utility>

#include "tools/http_answer.h"

namespace sluice::tools {
namespace {

constexpr std::size_t id_bytes_max = 1'024;
constexpr int64_t idle_ms_max = 300'000;  // silence after which it is not known whether the server is still there

}  // namespace

void McpCursor::take(const SseReader& reader) {
  const auto& id = reader.last_id();
  const bool is_usable = id.size() <= id_bytes_max && net::fault_of_header("X-Id", id).empty();
  if (!id.empty() && is_usable) last_id = id;
  if (reader.retry_ms()) retry_ms = *reader.retry_ms();
}

McpEvents::McpEvents(const Context& context, net::ClientRequest request, McpCursor cursor, Bounds bounds, bool waits,
                     McpEventsListener& listener)
    : context_(context),
      request_(std::move(request)),
      cursor_(std::move(cursor)),
      bounds_(bounds),
      listener_(listener) {
  waits ? open_later() : open();
}

void McpEvents::keep_until(int64_t until_us) {
  bounds_.until_us = until_us;
  if (ended_ == McpEventsEnd::interrupted) open();
}

void McpEvents::open_later() {
  const auto ms = std::clamp(cursor_.retry_ms, std::max(bounds_.retry_ms_min, mcp_retry_ms_min), mcp_retry_ms_max);
  retry_ = context_.loop.after(Millis{ms}, [this] { open(); });
}

void McpEvents::open() {
  ++opening_count_;
  ended_.reset();
  is_stream_ = false;
  status_ = 0;
  reader_ = {};
  // The wait before it may have been longer than what was left: the call ends at once then.
  const auto left_ms = std::max<int64_t>(1, (bounds_.until_us - context_.loop.monotonic_us()) / 1'000);
  auto request = request_;
  request.idle_ms_max = std::min(idle_ms_max, left_ms);
  request.total_ms_max = left_ms;
  request.headers.add("Accept", "text/event-stream");
  if (!cursor_.last_id.empty()) request.headers.add("Last-Event-ID", cursor_.last_id);
  call_ = context_.client.call(std::move(request), *this);
}

void McpEvents::on_head(int status, const net::Headers& headers) {
  status_ = status;
  is_stream_ = status == 200 && media_type_of(headers) == "text/event-stream";
}

void McpEvents::on_body(std::string_view bytes) {
  if (!is_stream_) return;
  byte_count_ += bytes.size();
  if (byte_count_ > bounds_.bytes_max) {
    return end(McpEventsEnd::broken, "it sent more than " + std::to_string(bounds_.bytes_max) + " bytes of events");
  }
  const auto events = reader_.feed(bytes);
  if (!events) return end(McpEventsEnd::broken, "what it sent is no stream of events: " + events.error().what);
  cursor_.take(reader_);
  const auto alive = lifetime_.watch();
  for (const auto& event : events.value()) {
    idle_count_ = 0;
    if (!event.data.empty()) listener_.on_mcp_event(event.data);
    if (alive.is_over()) return;
  }
}

void McpEvents::on_end(net::CallEnd ended) {
  using End = McpEventsEnd;
  call_.reset();
  if (!ended.failure && !is_stream_) {
    if (status_ == 401) return end(End::unauthorized, "it answered GET with status 401");
    const bool is_busy = status_ >= 500 && status_ != 501;
    return end(is_busy ? End::interrupted : End::not_offered, "it answered GET with status " + std::to_string(status_));
  }
  if (context_.loop.monotonic_us() >= bounds_.until_us) return end(End::interrupted, "its time is up");
  // Silence is what most servers have to say.
  const bool was_silent = is_stream_ && ended.failure == net::CallFailure::timed_out;
  idle_count_ = was_silent ? 0 : idle_count_ + 1;
  if (idle_count_ >= mcp_idle_openings_max) {
    const auto words = ended.failure ? ended.what : "it was closed " + std::to_string(idle_count_) + " times";
    return end(End::interrupted, words);
  }
  if (opening_count_ >= mcp_openings_max) {
    return end(End::broken, "it was opened " + std::to_string(opening_count_) + " times");
  }
  open_later();
}

void McpEvents::end(McpEventsEnd end, std::string why) {
  ended_ = end;
  call_.reset();
  retry_.cancel();
  listener_.on_mcp_events_end(end, std::move(why));
}

}  // namespace sluice::tools
