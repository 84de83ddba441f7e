#include "base/json.h"
#include "client/client.h"

namespace sluice::client {
namespace {

bool is_blank(std::string_view line) { return line.find_first_not_of(" \t\r") == std::string_view::npos; }

}  // namespace

Result<std::vector<Event>> EventStream::feed(std::string_view bytes) {
  if (corrupt_) return Error{ErrorKind::corrupt, "the stream was corrupt before"};
  buffer_ += bytes;
  std::vector<Event> events;
  std::size_t start = 0;
  for (std::size_t end; (end = buffer_.find('\n', scanned_)) != std::string::npos; start = scanned_ = end + 1) {
    const auto line = std::string_view(buffer_).substr(start, end - start);
    if (is_blank(line)) continue;
    auto event = read_line(line);
    if (!event) {
      expected_seq_ -= static_cast<int64_t>(events.size());  // none of them is delivered
      return give_up(event.error().what);
    }
    events.push_back(std::move(event).take());
  }
  buffer_.erase(0, start);
  scanned_ = buffer_.size();
  if (buffer_.size() > line_bytes_max) {
    expected_seq_ -= static_cast<int64_t>(events.size());
    return give_up("a line is longer than 16 MiB");
  }
  return events;
}

bool EventStream::complete() const { return terminal_seen_ && !corrupt_ && is_blank(buffer_); }

Result<Event> EventStream::read_line(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.size() > line_bytes_max) return Error{ErrorKind::corrupt, "a line is longer than 16 MiB"};
  if (terminal_seen_) return Error{ErrorKind::corrupt, "a line follows the terminal event"};
  const auto document = json::Document::parse(line);
  if (!document) return Error{ErrorKind::corrupt, "a line is not JSON: " + document.error().what};

  const auto root = document.value().root();
  const auto text_of = [&root](std::string_view name) {
    const auto member = root.find(name);
    return std::string(member ? member->string().value_or("") : "");
  };
  Event event;
  event.type = text_of("type");
  const auto seq = root.find("seq");
  if (event.type.empty() || !seq || !seq->integer()) {
    return Error{ErrorKind::corrupt, "a line has no type or no seq"};
  }
  event.seq = *seq->integer();
  if (event.seq != expected_seq_) {
    return Error{ErrorKind::corrupt,
                 "expected seq " + std::to_string(expected_seq_) + ", got " + std::to_string(event.seq)};
  }
  event.conversation_id = text_of("conversation_id");
  event.message_id = text_of("message_id");
  const auto data = root.find("data");
  event.data = data ? data->to_text() : "null";
  event.line = line;
  ++expected_seq_;
  terminal_seen_ = event.terminal();
  return event;
}

Error EventStream::give_up(std::string_view why) {
  corrupt_ = true;
  terminal_seen_ = false;
  buffer_.clear();
  return Error{ErrorKind::corrupt, std::string(why)};
}

}  // namespace sluice::client
