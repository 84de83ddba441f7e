// The head of a request, held to the same rules whichever version of HTTP carried it: what two readers
// could understand differently is refused, because a proxy before us may be the other reader.
// Pure: no socket, no clock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "net/incoming_body.h"
#include "net/net.h"

namespace sluice::net {

struct RequestLimits {
  std::size_t line_bytes_max = limits::request_line_bytes_max;
  std::size_t header_bytes_max = limits::header_bytes_max;  // field lines without their ends; trailers count too
  std::size_t header_count_max = limits::header_count_max;
  std::size_t body_bytes_max = limits::request_body_bytes_max;
  BodyLimit body_bytes_max_of = nullptr;
};

enum class HttpVersion : uint8_t { http_1_0, http_1_1, http_2 };

// Whether it is a token: what names methods and header fields.
bool is_token_char(char c);
bool is_field_value(std::string_view text);
// In whatever case: names of fields, and words of some.
bool same_word(std::string_view a, std::string_view b);

class RequestHead final {
 public:
  // `limits` must outlive the head.
  explicit RequestHead(const RequestLimits& limits) : limits_(&limits) {}

  // The first reason is the one that counts.
  void refuse(int status, std::string_view detail);
  void refuse_large_body();
  const std::optional<Refused>& refused() const { return refused_; }

  void set_method(std::string_view method);
  void set_version(HttpVersion version) { version_ = version; }
  void set_target(std::string_view target);
  // Counts a field of `bytes`, whatever is in it.
  void count_field(std::size_t bytes);
  // Checks a field that was counted.
  void check_field(std::string_view name, std::string_view value);
  // Checks it, heeds what is known of it, and keeps it.
  void add_field(std::string_view name, std::string_view value);
  // All fields have come.
  void finish();

  HttpVersion version() const { return version_; }
  std::size_t header_bytes() const { return header_bytes_; }
  const std::optional<std::size_t>& length() const { return length_; }  // Content-Length
  bool expects_continue() const { return expects_continue_ && version_ != HttpVersion::http_1_0; }
  // A key is asked for here. Where none is, bodies are tiny, and whoever sends one stays a stranger.
  bool is_guarded() const { return !is_open_; }
  // So much, as far as we know, that the key is to be looked at first.
  bool announces_body_to_judge() const { return length_.value_or(SIZE_MAX) > limits::unjudged_body_bytes_max; }
  std::size_t body_bytes_max() const { return body_bytes_max_; }  // of this request, once finished
  Request& request() { return request_; }
  const Request& request() const { return request_; }

 private:
  bool read_target(std::string_view target);
  void on_host(std::string_view value);
  void on_content_length(std::string_view value);

  const RequestLimits* limits_;
  Request request_;
  std::optional<Refused> refused_;
  std::optional<std::size_t> length_;
  std::size_t body_bytes_max_ = 0;
  std::size_t header_bytes_ = 0;
  std::size_t header_count_ = 0;
  HttpVersion version_ = HttpVersion::http_1_1;
  bool has_host_ = false;
  bool is_open_ = false;
  bool expects_continue_ = false;
  bool expects_else_ = false;
};

}  // namespace sluice::net
