#include "model/batch_walk.h"

#include "base/varint.h"

namespace sluice::model {
namespace {

constexpr char batch_version = 1;

// Small magnitudes of either sign become small numbers: a clock may step back between two events.
uint64_t zigzag(int64_t value) { return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63); }

int64_t unzigzag(uint64_t value) { return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1); }

}  // namespace

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

std::optional<EventView> next_in_batch(std::string_view batch, BatchPlace& place) {
  ByteReader reader(batch.substr(place.offset));
  if (place.offset == 0 && reader.byte() != static_cast<uint8_t>(batch_version)) return {};
  const auto kind = reader.byte();
  const auto since = reader.varint();
  const auto size = reader.varint();
  const auto body = size ? reader.take(*size) : std::nullopt;
  if (!kind || !since || !body || name_of(static_cast<EventKind>(*kind)) == "unknown") return {};
  // Added as unsigned: bytes from a damaged disk must not overflow.
  const Timestamp at{
      static_cast<int64_t>(static_cast<uint64_t>(place.before.ms) + static_cast<uint64_t>(unzigzag(*since)))};
  place = {static_cast<std::size_t>(body->data() + body->size() - batch.data()), at};
  return EventView{static_cast<EventKind>(*kind), at, *body};
}

Result<std::vector<RunEvent>> decode_batch(std::string_view bytes) {
  std::vector<RunEvent> events;
  if (bytes == std::string_view(&batch_version, 1)) return events;
  BatchPlace place;
  do {
    const auto event = next_in_batch(bytes, place);
    if (!event) return Error{ErrorKind::corrupt, "a journal row is not a batch of events"};
    events.push_back({event->kind, event->at, std::string(event->body)});
  } while (place.offset < bytes.size());
  return events;
}

}  // namespace sluice::model
