// Reads HTTP/1.1 responses as bytes come, just well enough for a load client: status, Content-Length
// or chunks, and the body in pieces. It trusts the server; it is no parser for the open world.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace sluice::bench {

class HttpReader {
 public:
  enum class Step : uint8_t { more, done, broken };

  // Takes `bytes`, calls `on_body` for each piece of the body. Nothing may follow a complete
  // response before reset(): this client does not pipeline.
  Step feed(std::string_view bytes, const std::function<void(std::string_view)>& on_body);
  void reset();

  int status() const { return status_; }

 private:
  enum class State : uint8_t { head, chunk_size, chunk_data, chunk_end, last_end, sized, done, broken };

  bool take_line(std::string_view& bytes);  // into line_; false: not complete yet
  void take_head_line();
  void take_data(std::string_view& bytes, const std::function<void(std::string_view)>& on_body, State next);

  State state_ = State::head;
  std::string line_;
  bool line_complete_ = false;
  int status_ = 0;
  bool chunked_ = false;
  std::size_t left_ = 0;
};

}  // namespace sluice::bench
