// What a path of the runner's surface means.
#pragma once

#include <optional>
#include <string_view>

namespace sluice::station {

enum class Door : unsigned char { stream, dispatch, acknowledge, health, drain };

struct Place {
  Door door;
  std::string_view dispatch;  // its name, of `dispatch` and `acknowledge`
};

// Whatever is before it. Empty when there is no such door.
std::optional<Place> find_place(std::string_view path);

// The methods that a door takes, as the header Allow has them.
std::string_view methods_of(Door door);

}  // namespace sluice::station
