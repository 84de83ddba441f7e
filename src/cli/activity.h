// What an agent does besides talking, as lines for a person: commands and what they print, files that
// come and go, the diff at the end. Pure: an event in, text out.
#pragma once

#include <string>

#include "client/client.h"

namespace sluice::cli {

// Empty for events that are not shown. Whole lines, unless it is a tool's output that is not one yet.
std::string activity_text(const client::Event& event);

}  // namespace sluice::cli
