#include "http/head_parser.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "http/text.h"

namespace sluice::http {

std::optional<Fault> split_field(std::string_view line, std::string_view& name, std::string_view& value) {
  if (line.front() == ' ' || line.front() == '\t') return Fault{.detail = "a header field is folded over two lines"};
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return Fault{.detail = "a header field has no colon"};
  name = line.substr(0, colon);
  value = trimmed(line.substr(colon + 1));
  return check_field(name, value);
}

template <typename Head>
std::size_t HeadParser<Head>::feed(std::string_view bytes) {
  std::string_view rest = bytes;
  while (!rest.empty() && stage_ < Stage::done) take_line(rest);
  return bytes.size() - rest.size();
}

template <typename Head>
void HeadParser<Head>::fail(Fault fault) {
  fault_ = fault;
  stage_ = Stage::failed;
}

template <typename Head>
std::size_t HeadParser<Head>::line_room() const {
  const std::size_t room = stage_ == Stage::line ? limits_->line_bytes_max : limits_->header_bytes_max - tally_.bytes();
  return std::min(room + 2, limits_->head_bytes_max - line_bytes_);
}

template <typename Head>
void HeadParser<Head>::take_line(std::string_view& bytes) {
  // Refuses at once what can never become a message: TLS to a plain port has no line ends to wait for.
  if (!started() && bytes.front() != '\r' && bytes.front() != '\n' && !is_token_char(bytes.front())) {
    bytes.remove_prefix(1);
    return fail({.detail = "this is not an HTTP request"});
  }
  std::string_view line;
  switch (lines_.take(bytes, line_room(), line)) {
    case Lines::Found::none: return;
    case Lines::Found::line: return on_line(line);
    case Lines::Found::bare_end: return fail({.detail = "a line ends without CR LF"});
    case Lines::Found::overlong: break;
  }
  if (stage_ == Stage::line) return fail({Fault::Kind::long_line, "the request line is too long"});
  fail({Fault::Kind::large_headers, "the header fields are too large"});
}

template <typename Head>
void HeadParser<Head>::on_line(std::string_view line) {
  line_bytes_ += line.size() + 2;
  if (stage_ == Stage::line) return on_first_line(line);
  if (!line.empty()) return on_field(line);
  stage_ = Stage::done;
  lines_ = {};  // the body may be long in coming, and what is held until then is bounded
}

template <typename Head>
void HeadParser<Head>::on_first_line(std::string_view line) {
  // RFC 9112 §2.2: some clients end a body with one line end too many.
  if (std::is_same_v<Head, RequestHead> && line.empty() && !std::exchange(skipped_blank_, true)) return;
  if (line.empty()) return fail({.detail = "the request line is empty"});
  stage_ = Stage::fields;
  if (const auto fault = read_first_line(line, head_)) fail(*fault);
}

template <typename Head>
void HeadParser<Head>::on_field(std::string_view line) {
  if (const auto fault = tally_.count(line.size(), *limits_)) return fail(*fault);
  std::string_view name;
  std::string_view value;
  if (const auto fault = split_field(line, name, value)) return fail(*fault);
  head_.headers.add(name, value);
}

template class HeadParser<RequestHead>;
template class HeadParser<ResponseHead>;

}  // namespace sluice::http
