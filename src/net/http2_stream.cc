#include "net/http2_stream.h"

namespace sluice::net {
namespace {

// What the request line of HTTP/1.1 has besides method and target.
constexpr std::size_t line_overhead = std::string_view("  HTTP/1.1").size();

}  // namespace

void Http2Stream::refuse(int status, std::string_view detail) {
  head_.refuse(status, detail);
  body_.drop();
}

void Http2Stream::on_field(std::string_view name, std::string_view value) {
  const bool is_pseudo = name.starts_with(':');
  // A target has a limit of its own; past all limits the rest is only counted, to know when to stop.
  if (name != ":path" || refused()) head_.count_field(name.size() + value.size() + 2);
  if (refused()) return;
  if (is_pseudo) return read_pseudo_field(name, value);
  // The names of the authority must be one: a proxy before us may believe the other.
  if (name == "host" && authority_) {
    if (value != *authority_) refuse(400, "the Host field differs from :authority");
    return;
  }
  if (name == "cookie") {  // RFC 9113 §8.2.3: comes in crumbs, which compress better
    cookie_.append(cookie_.empty() ? "" : "; ").append(value);
    return;
  }
  head_.add_field(name, value);
}

void Http2Stream::read_pseudo_field(std::string_view name, std::string_view value) {
  if (name == ":method") {
    method_ = value;
  } else if (name == ":scheme") {
    scheme_ = value;
  } else if (name == ":authority") {
    authority_ = value;
    head_.add_field("host", value);
  } else if (name == ":path") {
    if (value.size() > limits_.head.line_bytes_max) return refuse(414, "the request line is too long");
    path_ = value;
  }
}

void Http2Stream::on_malformed_field() { refuse(400, "a header field is malformed"); }

void Http2Stream::on_trailer(std::string_view name, std::string_view value) {
  head_.count_field(name.size() + value.size() + 2);
  head_.check_field(name, value);
  if (refused()) body_.drop();
}

void Http2Stream::on_head_end() {
  if (!refused()) read_head();
  forget_fields();
}

void Http2Stream::read_head() {
  if (method_.size() + path_.size() + line_overhead > limits_.head.line_bytes_max) {
    return refuse(414, "the request line is too long");
  }
  if (!cookie_.empty()) head_.add_field("cookie", cookie_);
  if (scheme_ != "http" && scheme_ != "https") return refuse(400, "the :scheme is neither http nor https");
  if (!path_.starts_with('/') && path_ != "*") return refuse(400, "the request target is malformed");
  head_.set_request_line(method_, path_);
  if (!refused()) head_.finish();
  if (!refused()) body_.expect(head_.length().value_or(0));
}

void Http2Stream::forget_fields() {
  if (!is_head_request()) method_ = {};
  for (auto* text : {&path_, &scheme_, &cookie_}) *text = {};
  authority_.reset();
}

void Http2Stream::forget_request() {
  forget_fields();
  head_.forget_request();
}

void Http2Stream::on_data(std::string_view bytes) {
  if (refused()) return;
  if (body_.size() + bytes.size() > head_.body_bytes_max()) {
    head_.refuse_large_body();
    return body_.drop();
  }
  heed(body_.append(bytes));
}

void Http2Stream::on_request_end() {
  request_ended_ = true;
  if (refused()) return;
  heed(body_.finish(head_.request().body));
}

}  // namespace sluice::net
