#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <mutex>

#include "base/bytes.h"
#include "base/json.h"
#include "world/world.h"

namespace sluice::world {
namespace {

constexpr std::string_view level_names[] = {"debug", "info", "warn", "error"};

std::string_view name_of(LogLevel level) { return level_names[static_cast<int>(level)]; }

Timestamp wall_clock() {
  const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::milliseconds>(since_1970).count()};
}

// JSON must be UTF-8, and what is logged may have come from anywhere.
void append_json_string(std::string& out, std::string_view text) {
  if (is_utf8(text)) return json::append_string(out, text);
  std::string ascii(text);
  std::replace_if(ascii.begin(), ascii.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x80; }, '?');
  json::append_string(out, ascii);
}

std::string json_line(LogLevel level, std::string_view event, std::initializer_list<LogField> fields) {
  std::string out = R"({"at":")";
  append_rfc3339(out, wall_clock());
  out.append(R"(","level":")").append(name_of(level)).append(R"(","event":)");
  append_json_string(out, event);
  for (const auto& field : fields) {
    out += ',';
    append_json_string(out, field.name);
    out += ':';
    if (const auto* text = std::get_if<std::string_view>(&field.value)) append_json_string(out, *text);
    if (const auto* number = std::get_if<int64_t>(&field.value)) out += std::to_string(*number);
  }
  return out += "}\n";
}

bool is_plain(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f && c != '"' && c != '='; });
}

std::string human_line(LogLevel level, std::string_view event, std::initializer_list<LogField> fields) {
  std::string out;
  append_rfc3339(out, wall_clock());
  out.append(" ").append(name_of(level)).append(5 - name_of(level).size(), ' ').append(" ").append(event);
  for (const auto& field : fields) {
    out.append(" ").append(field.name).append("=");
    if (const auto* number = std::get_if<int64_t>(&field.value)) out += std::to_string(*number);
    const auto* text = std::get_if<std::string_view>(&field.value);
    if (text == nullptr) continue;
    // Quoted unless harmless: a value with a line break in it must not forge a line.
    if (is_plain(*text)) {
      out += *text;
    } else {
      append_json_string(out, *text);
    }
  }
  return out += '\n';
}

class StderrLog final : public Log {
 public:
  StderrLog(LogFormat format, LogLevel least) : format_(format), least_(least) {}

  bool wants(LogLevel level) const override { return level >= least_; }

  void write(LogLevel level, std::string_view event, std::initializer_list<LogField> fields) override {
    if (!wants(level)) return;
    const std::string line = line_of(level, event, fields);
    const std::lock_guard lock(mutex_);
    if (dropped_ > 0) {
      const auto notice = line_of(LogLevel::warn, "log lines were dropped", {{"count", dropped_}});
      if (put(is_torn_ ? "\n" + notice : notice)) dropped_ = 0;
    }
    if (dropped_ > 0 || !put(line)) ++dropped_;
  }

 private:
  std::string line_of(LogLevel level, std::string_view event, std::initializer_list<LogField> fields) const {
    return format_ == LogFormat::json ? json_line(level, event, fields) : human_line(level, event, fields);
  }

  // A log without a reader is no reason to stop: false where a write would wait for a reader. The
  // descriptor is shared with others, so it is not ours to make non-blocking; but a pipe that is ready
  // takes PIPE_BUF bytes at once.
  bool put(std::string_view line) {
    while (!line.empty()) {
      pollfd room{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
      if (poll(&room, 1, 0) == 0) return false;
      const ssize_t written = ::write(STDERR_FILENO, line.data(), std::min<std::size_t>(line.size(), PIPE_BUF));
      if (written <= 0) return false;
      line.remove_prefix(static_cast<std::size_t>(written));
      is_torn_ = !line.empty();
    }
    return true;
  }

  const LogFormat format_;
  const LogLevel least_;
  std::mutex mutex_;
  int64_t dropped_ = 0;
  bool is_torn_ = false;  // the last line ended before its end
};

}  // namespace

std::unique_ptr<Log> make_stderr_log(LogFormat format, LogLevel least) {
  return std::make_unique<StderrLog>(format, least);
}

}  // namespace sluice::world
