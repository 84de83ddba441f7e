#include "net/http_parser.h"

#include <utility>

namespace sluice::net {

std::size_t RequestParser::feed(std::string_view bytes) {
  std::string_view rest = bytes;
  if (now_->stage == Stage::head) read_head(rest);
  while (now_->stage == Stage::body && !rest.empty()) read_body(rest);
  return bytes.size() - rest.size();
}

Request RequestParser::take() {
  SLUICE_CHECK(done());
  Request request = std::move(now_->head.request());
  now_.emplace(limits_);
  return request;
}

void RequestParser::refuse(const http::Fault& fault) {
  now_->head.refuse(fault);
  stop();
}

void RequestParser::stop() {
  now_->stage = Stage::refused;
  body_.drop();
}

bool RequestParser::heed_refusal(const std::optional<Refused>& refused) {
  if (!refused) return false;
  now_->head.refuse(refused->status, refused->detail);
  stop();
  return true;
}

void RequestParser::read_head(std::string_view& bytes) {
  bytes.remove_prefix(now_->parser.feed(bytes));
  if (const auto& fault = now_->parser.fault()) return refuse(*fault);
  if (now_->parser.done()) on_head_end();
}

void RequestParser::on_head_end() {
  now_->keep_alive = now_->parser.head().keeps_connection();
  now_->head.finish(std::move(now_->parser.head()), now_->parser.tally());
  if (refused()) return stop();
  body_.expect(now_->head.length().value_or(0));
  now_->reader = http::BodyReader(now_->head.body(),
                                  {.payload_bytes_max = now_->head.body_bytes_max(),
                                   .extension_bytes_max = limits_.head.header_bytes_max,
                                   .trailer_bytes_max = limits_.head.header_bytes_max,
                                   .trailer_count_max = limits_.head.header_count_max},
                                  now_->head.tally());
  now_->stage = now_->reader.done() ? Stage::done : Stage::body;
}

void RequestParser::read_body(std::string_view& bytes) {
  const std::string_view payload = now_->reader.next(bytes);
  if (now_->reader.broken()) return refuse(now_->reader.fault());
  if (!payload.empty() && heed_refusal(body_.append(payload))) return;
  if (now_->reader.done()) on_body_end();
}

void RequestParser::on_body_end() {
  if (!heed_refusal(body_.finish(now_->head.request().body))) now_->stage = Stage::done;
}

}  // namespace sluice::net
