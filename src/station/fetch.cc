#include "station/fetch.h"

#include <utility>

#include "base/json.h"

namespace sluice::station {

namespace {

constexpr Millis ask_again_after{250};

}  // namespace

Fetch::Fetch(net::Client& client, net::ClientRequest request, std::size_t bytes_max, Patience patience, Done done)
    : client_(client),
      request_(std::move(request)),
      bytes_max_(bytes_max),
      patience_(patience),
      began_us_(patience.loop.monotonic_us()),
      done_(std::move(done)) {
  ask();
}

void Fetch::ask() {
  fetched_ = {.after_cut = fetched_.after_cut};
  call_ = client_.call(request_, *this);
}

bool Fetch::can_repeat(const net::CallEnd& end) const {
  if (patience_.loop.monotonic_us() - began_us_ >= patience_.span.value * 1000) return false;
  if (!end.failure) return fetched_.status == 503;
  return *end.failure == net::CallFailure::unreachable ||
         (request_.method == "GET" && *end.failure == net::CallFailure::cut);
}

void Fetch::on_head(int status, const net::Headers&) { fetched_.status = status; }

void Fetch::on_body(std::string_view bytes) {
  if (fetched_.body.size() + bytes.size() <= bytes_max_) {
    fetched_.body += bytes;
    return;
  }
  call_.reset();
  auto done = std::move(done_);
  done(Error{ErrorKind::invalid, "the answer is larger than " + std::to_string(bytes_max_) + " bytes"});
}

void Fetch::on_end(net::CallEnd end) {
  if (can_repeat(end)) {
    fetched_.after_cut |= end.failure == net::CallFailure::cut;
    again_ = patience_.loop.after(ask_again_after, [this] { ask(); });
    return;
  }
  // The listener may destroy this object.
  auto done = std::move(done_);
  if (end.failure) return done(Error{ErrorKind::unavailable, std::move(end.what)});
  done(std::move(fetched_));
}

std::string words_of(const Fetched& refusal) {
  constexpr std::size_t words_max = 500;
  std::string words = " with status " + std::to_string(refusal.status);
  const auto document = json::Document::parse(refusal.body);
  if (!document) return words;
  for (const auto* name : {"detail", "error", "message", "title"}) {
    const auto value = document.value().root().find(name);
    const auto text = value ? value->string() : std::nullopt;
    if (text && !text->empty() && text->size() <= words_max) return words + ": " + std::string(*text);
  }
  return words;
}

}  // namespace sluice::station
