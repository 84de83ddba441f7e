#include "bench/http_reader.h"

#include <strings.h>
#include <algorithm>
#include <charconv>

namespace sluice::bench {
namespace {

bool has_prefix(std::string_view text, std::string_view prefix) {
  return text.size() >= prefix.size() && strncasecmp(text.data(), prefix.data(), prefix.size()) == 0;
}

template <typename Number>
bool parse(std::string_view text, Number& out, int base) {
  const auto start = std::min(text.find_first_not_of(' '), text.size());
  return std::from_chars(text.data() + start, text.data() + text.size(), out, base).ec == std::errc();
}

}  // namespace

void HttpReader::reset() { *this = HttpReader(); }

bool HttpReader::take_line(std::string_view& bytes) {
  if (line_complete_) {
    line_.clear();
    line_complete_ = false;
  }
  const auto end = bytes.find('\n');
  line_ += bytes.substr(0, end);
  if (end == std::string_view::npos) {
    bytes = {};
    return false;
  }
  bytes.remove_prefix(end + 1);
  if (line_.ends_with('\r')) line_.pop_back();
  line_complete_ = true;
  return true;
}

void HttpReader::take_head_line() {
  const std::string_view line = line_;
  if (status_ == 0) {
    if (!has_prefix(line, "HTTP/1.1 ") || !parse(line.substr(9), status_, 10)) state_ = State::broken;
  } else if (has_prefix(line, "content-length:")) {
    if (!parse(line.substr(15), left_, 10)) state_ = State::broken;
  } else if (has_prefix(line, "transfer-encoding:")) {
    chunked_ = true;
  } else if (line.empty()) {
    state_ = chunked_ ? State::chunk_size : left_ > 0 ? State::sized : State::done;
  }
}

void HttpReader::take_data(std::string_view& bytes, const std::function<void(std::string_view)>& on_body, State next) {
  const auto count = std::min(left_, bytes.size());
  on_body(bytes.substr(0, count));
  bytes.remove_prefix(count);
  left_ -= count;
  if (left_ == 0) state_ = next;
}

HttpReader::Step HttpReader::feed(std::string_view bytes, const std::function<void(std::string_view)>& on_body) {
  while (!bytes.empty() && state_ != State::done && state_ != State::broken) {
    switch (state_) {
      case State::head:
        if (take_line(bytes)) take_head_line();
        break;
      case State::chunk_size:
        if (!take_line(bytes)) break;
        if (!parse(line_, left_, 16))
          state_ = State::broken;
        else
          state_ = left_ == 0 ? State::last_end : State::chunk_data;
        break;
      case State::chunk_data: take_data(bytes, on_body, State::chunk_end); break;
      case State::chunk_end:
        if (take_line(bytes)) state_ = line_.empty() ? State::chunk_size : State::broken;
        break;
      case State::last_end:
        if (take_line(bytes)) state_ = line_.empty() ? State::done : State::broken;
        break;
      case State::sized: take_data(bytes, on_body, State::done); break;
      case State::done:
      case State::broken: break;
    }
  }
  if (state_ == State::broken || !bytes.empty()) return Step::broken;
  return state_ == State::done ? Step::done : Step::more;
}

}  // namespace sluice::bench
