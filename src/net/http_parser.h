// Reads one HTTP/1 request from bytes, as strictly as RequestHead. Pure: no socket, no clock.
//
// Where the bytes are split makes no difference to what comes out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "net/incoming_body.h"
#include "net/request_head.h"

namespace sluice::net {

class RequestParser final {
 public:
  // `limits` and `bodies` must outlive the parser.
  RequestParser(const RequestLimits& limits, BodyRoom& bodies, std::shared_ptr<Origin> origin = nullptr)
      : limits_(limits), body_(bodies, std::move(origin)) {}

  // Reads from the front of `bytes` and says how many it took: never beyond the end of the request.
  // Takes nothing once done() or refused().
  std::size_t feed(std::string_view bytes);

  bool started() const { return now_.stage != Stage::line || !partial_.empty(); }
  bool head_done() const { return now_.stage > Stage::fields; }
  bool done() const { return now_.stage == Stage::done; }
  const std::optional<Refused>& refused() const { return now_.head.refused(); }

  // True once head_done().
  bool is_http_1_0() const { return now_.head.version() == HttpVersion::http_1_0; }
  bool keep_alive() const { return now_.keep_alive; }
  bool expects_continue() const { return now_.head.expects_continue(); }
  bool is_guarded() const { return now_.head.is_guarded(); }
  bool announces_body_to_judge() const { return now_.head.announces_body_to_judge(); }
  const Request& request() const { return now_.head.request(); }
  std::size_t body_size() const { return body_.size(); }

  // The body is awaited, and the head with it.
  void hold_head() { heed_refusal(body_.hold_head(now_.head.header_bytes())); }
  // The sender has shown a key.
  void admit() { heed_refusal(body_.admit()); }
  // The request, once done(). The parser is then ready for the next one.
  Request take();
  // Nobody will want the rest of it.
  void drop_body() { body_.drop(); }

 private:
  enum class Stage : uint8_t { line, fields, body, chunk_size, chunk, chunk_end, trailers, done, refused };
  enum class Coding : uint8_t { none, chunked, unknown };

  // What is known of the request being read.
  struct Progress {
    RequestHead head;
    std::size_t left = 0;  // of the body or of the chunk
    std::size_t extension_bytes = 0;
    Stage stage = Stage::line;
    Coding coding = Coding::none;
    bool has_coding = false;
    bool keep_alive = true;
    bool skipped_blank = false;
  };

  void refuse(int status, std::string_view detail);
  // To be called when the head or the body may have been refused; says whether it was.
  bool heed_refusal(const std::optional<Refused>& refused);
  std::size_t take_line(std::string_view bytes);
  std::size_t take_body(std::string_view bytes);
  std::size_t line_room() const;
  void refuse_overlong();

  void on_line(std::string_view line);
  void on_request_line(std::string_view line);
  void read_version(std::string_view version);
  void on_field(std::string_view line);
  void on_transfer_encoding(std::string_view value);
  void on_connection(std::string_view value);
  void on_head_end();
  void on_chunk_size(std::string_view line);
  void on_body_end();

  const RequestLimits& limits_;
  Progress now_{RequestHead(limits_)};
  IncomingBody body_;
  std::string partial_;  // of a line whose end has not come
};

}  // namespace sluice::net
