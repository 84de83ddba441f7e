#include "api/answers/event_request.h"

#include "api/request/reading.h"

#include <strings.h>

#include <charconv>
#include <limits>

namespace sluice::api {
namespace {

constexpr std::string_view parameters[] = {"after", "detail"};
constexpr std::string_view trace_parameters[] = {"after", "profile"};
constexpr std::size_t page_bytes = 256 * 1024;
constexpr int64_t seq_max = std::numeric_limits<int64_t>::max();

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

bool same_word(std::string_view a, std::string_view b) {
  return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0;
}

// Cuts off what stands before `separator`, trimmed.
std::string_view next_part(std::string_view& rest, char separator) {
  const std::size_t end = rest.find(separator);
  const std::string_view part = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
  return trimmed(part);
}

// The quality of a media type in an Accept header: 0 to 1000; 0 if it does not name the type.
int liking(std::string_view accept, std::string_view type) {
  while (!accept.empty()) {
    std::string_view range = next_part(accept, ',');
    if (!same_word(next_part(range, ';'), type)) continue;
    while (!range.empty()) {
      const std::string_view parameter = next_part(range, ';');
      if (!parameter.starts_with("q=") && !parameter.starts_with("Q=")) continue;
      double quality = 0;
      std::from_chars(parameter.data() + 2, parameter.data() + parameter.size(), quality);
      return static_cast<int>(quality * 1000);
    }
    return 1000;
  }
  return 0;
}

// Reads a journal page by page and counts its lines as the stream would.
class EventSearch final : public std::enable_shared_from_this<EventSearch> {
 public:
  EventSearch(const RequestPtr& request, const model::Run& run, StreamPosition position, Callback<void(Follows)> then)
      : request_(request),
        run_(run.id),
        seq_(position.after),
        then_(std::move(then)),
        fold_({.format = position.format, .after = seq_max}, run) {}

  void read_page() {
    // Kept alive by the answer it waits for.
    request_->store().read(
        run_, fold_.at(), page_bytes,
        [self = shared_from_this()](const Result<journal::JournalPage>& page) { self->on_page(page); });
  }

 private:
  void on_page(const Result<journal::JournalPage>& page) {
    if (!page) return request_->fail(page.error());
    std::string nothing;
    for (const auto& committed : page.value().events) fold_.apply(committed, nothing);
    if (fold_.next_seq() > seq_) {
      const bool last = fold_.ended() && fold_.next_seq() == seq_ + 1;
      return then_(last ? Follows::nothing : Follows::something);
    }
    if (page.value().events.empty() || fold_.ended()) {
      return request_->invalid("after", "is beyond the last event, " + std::to_string(fold_.next_seq() - 1));
    }
    read_page();
  }

  RequestPtr request_;
  model::RunId run_;
  int64_t seq_;
  Callback<void(Follows)> then_;
  wire::Fold fold_;
};

wire::Format accepted_format(const RequestPtr& request) {
  const std::string_view accept = request->header("Accept").value_or("");
  const int sse = liking(accept, "text/event-stream");
  return sse > 0 && sse >= liking(accept, "application/x-ndjson") ? wire::Format::sse : wire::Format::ndjson;
}

}  // namespace

int64_t read_after(const RequestPtr& request, const Query& query, Findings& findings) {
  if (query.find("after")) return query.integer("after", 0, seq_max - 1).value_or(-1);
  const auto last = request->header("Last-Event-ID");
  if (!last || last->empty()) return -1;
  int64_t seq = -1;
  const auto [end, failed] = std::from_chars(last->data(), last->data() + last->size(), seq);
  if (failed != std::errc{} || end != last->data() + last->size() || seq < 0) {
    findings.refuse("Last-Event-ID", "must be the number of an event");
  }
  return seq;
}

wire::Format read_detail(const Query& query, wire::Format format) {
  const auto detail = query.find("detail").value_or("message");
  if (detail == "full") return format == wire::Format::sse ? wire::Format::full_sse : wire::Format::full_ndjson;
  if (detail != "message") query.refuse("detail", "must be message or full");
  return format;
}

StreamPosition read_stream_position(const RequestPtr& request, Findings& findings) {
  const Query query(request, parameters, findings);
  const int64_t after = read_after(request, query, findings);
  return {read_detail(query, accepted_format(request)), after};
}

StreamPosition read_trace_position(const RequestPtr& request, Findings& findings) {
  const Query query(request, trace_parameters, findings);
  const auto profile = query.find("profile").value_or("plain");
  if (profile != "plain" && profile != "extended") query.refuse("profile", "must be plain or extended");
  return {profile == "extended" ? wire::Format::extended_trace : wire::Format::trace,
          read_after(request, query, findings)};
}

void find_event(const RequestPtr& request, const model::Run& run, StreamPosition position,
                Callback<void(Follows)> then) {
  std::make_shared<EventSearch>(request, run, position, std::move(then))->read_page();
}

}  // namespace sluice::api
