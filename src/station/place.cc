#include "station/place.h"

#include "station/station.h"
#include "station/stream_request.h"

namespace sluice::station {

std::optional<Place> find_place(std::string_view path) {
  constexpr std::string_view stream = "/stream";
  constexpr std::string_view acknowledge = "/ack";
  if (path.ends_with("/healthz")) return Place{Door::health, ""};
  if (path.ends_with("/drain")) return Place{Door::drain, ""};
  if (path.ends_with(stream)) return Place{Door::stream, ""};
  const auto at = path.rfind("/stream/");
  if (at == std::string_view::npos) return std::nullopt;
  auto name = path.substr(at + stream.size() + 1);
  const bool acknowledges = name.ends_with(acknowledge);
  if (acknowledges) name.remove_suffix(acknowledge.size());
  if (!is_name(name)) return std::nullopt;
  return Place{acknowledges ? Door::acknowledge : Door::dispatch, name};
}

std::string_view methods_of(Door door) {
  switch (door) {
    case Door::dispatch: return "GET, DELETE";
    case Door::health: return "GET, HEAD";
    case Door::stream:
    case Door::acknowledge:
    case Door::drain: return "POST";
  }
  return "";
}

bool is_station_path(std::string_view path) { return find_place(path).has_value(); }

std::size_t body_bytes_max_of(std::string_view, std::string_view path) {
  const auto place = find_place(path);
  return place && place->door == Door::health ? limits::open_body_bytes_max : 0;
}

}  // namespace sluice::station
