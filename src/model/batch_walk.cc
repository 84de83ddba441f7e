#include "model/batch_walk.h"

#include "base/varint.h"

namespace sluice::model {

namespace {

int64_t unzigzag(uint64_t value) { return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1); }

}  // namespace

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

}  // namespace sluice::model
