#include "station/fetch.h"

#include <utility>

#include "base/json.h"

namespace sluice::station {

Fetch::Fetch(net::Client& client, net::ClientRequest request, std::size_t bytes_max, Done done)
    : bytes_max_(bytes_max), done_(std::move(done)), call_(client.call(std::move(request), *this)) {}

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
  // Whoever hears it may drop us.
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
