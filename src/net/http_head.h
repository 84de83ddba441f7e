// Writes the head of an HTTP/1 answer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/time.h"
#include "http/body.h"
#include "http/status.h"
#include "net/net.h"

namespace sluice::net {

using http::Framing;  // `none`: of 204 and 304, where nothing is said about a body
using http::has_no_body;

// What is said about the connection.
enum class Persistence : uint8_t { implied, close, keep_alive };

struct HeadFacts {
  int status = 200;
  Framing framing = Framing::length;
  std::size_t length = 0;
  Persistence persistence = Persistence::implied;
  Timestamp now;
};

// "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n", made once a second.
class DateLine {
 public:
  std::string_view at(Timestamp now);
  // Without name and line end.
  std::string_view value_at(Timestamp now);

 private:
  int64_t second_ = -1;
  std::string text_;
};

// The body of an answer, as it is queued; nothing of it stays behind.
SharedBytes take_body(Response& response);

// Fields that are the server's own are not taken from a handler.
bool is_servers_own(std::string_view name);

// Fields that are the server's own are left out of `headers`, and line breaks inside a value become
// blanks: a value may quote what a stranger sent.
void append_head(std::string& out, const HeadFacts& facts, const Headers& headers, DateLine& date);

}  // namespace sluice::net
