#include "model/run_event.h"

namespace sluice::model {
namespace {

constexpr char batch_version = 1;

void append_varint(std::string& out, uint64_t value) {
  while (value >= 0x80) {
    out += static_cast<char>(value | 0x80);
    value >>= 7;
  }
  out += static_cast<char>(value);
}

// Small magnitudes of either sign become small numbers: a clock may step back between two events.
uint64_t zigzag(int64_t value) { return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63); }
int64_t unzigzag(uint64_t value) { return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1); }

class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}
  bool at_end() const { return bytes_.empty(); }

  std::optional<uint8_t> byte() {
    if (bytes_.empty()) return std::nullopt;
    const auto value = static_cast<uint8_t>(bytes_[0]);
    bytes_.remove_prefix(1);
    return value;
  }
  std::optional<uint64_t> varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto next = byte();
      if (!next) return std::nullopt;
      // A number has one spelling: no idle last byte, nothing beyond 64 bits.
      if ((*next == 0 && shift > 0) || (shift == 63 && *next > 1)) return std::nullopt;
      value |= static_cast<uint64_t>(*next & 0x7f) << shift;
      if ((*next & 0x80) == 0) return value;
    }
    return std::nullopt;
  }
  std::optional<std::string_view> take(uint64_t size) {
    if (size > bytes_.size()) return std::nullopt;
    const auto taken = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return taken;
  }

 private:
  std::string_view bytes_;
};

}  // namespace

std::string_view name_of(EventKind kind) {
  switch (kind) {
    case EventKind::accepted: return "accepted";
    case EventKind::started: return "started";
    case EventKind::text: return "text";
    case EventKind::reasoning: return "reasoning";
    case EventKind::filler: return "filler";
    case EventKind::log: return "log";
    case EventKind::usage: return "usage";
    case EventKind::completed: return "completed";
    case EventKind::failed: return "failed";
    case EventKind::cancelled: return "cancelled";
  }
  return "unknown";
}

void append_batch(std::string& out, const std::vector<RunEvent>& events) {
  out += batch_version;
  Timestamp before;
  for (const auto& event : events) {
    out += static_cast<char>(event.kind);
    append_varint(out,
                  zigzag(static_cast<int64_t>(static_cast<uint64_t>(event.at.ms) - static_cast<uint64_t>(before.ms))));
    append_varint(out, event.body.size());
    out += event.body;
    before = event.at;
  }
}

std::string encode_batch(const std::vector<RunEvent>& events) {
  std::string out;
  std::size_t size = 1;
  for (const auto& event : events) size += event.body.size() + 8;
  out.reserve(size);
  append_batch(out, events);
  return out;
}

Result<std::vector<RunEvent>> decode_batch(std::string_view bytes) {
  const Error corrupt{ErrorKind::corrupt, "a journal row is not a batch of events"};
  ByteReader reader(bytes);
  if (reader.byte() != static_cast<uint8_t>(batch_version)) return corrupt;
  std::vector<RunEvent> events;
  Timestamp before;
  while (!reader.at_end()) {
    const auto kind = reader.byte();
    const auto since = reader.varint();
    const auto size = reader.varint();
    const auto body = size ? reader.take(*size) : std::nullopt;
    if (!kind || !since || !body || name_of(static_cast<EventKind>(*kind)) == "unknown") return corrupt;
    // Added as unsigned: bytes from a damaged disk must not overflow.
    before.ms = static_cast<int64_t>(static_cast<uint64_t>(before.ms) + static_cast<uint64_t>(unzigzag(*since)));
    events.push_back({static_cast<EventKind>(*kind), before, std::string(*body)});
  }
  return events;
}

}  // namespace sluice::model
