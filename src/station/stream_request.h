// What the caller of POST /stream asks for, checked.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "harness/envelope.h"
#include "net/net.h"
#include "station/station.h"

namespace sluice::station {

struct StreamRequest {
  std::string agent_url;  // without a slash at its end
  std::string otp_setup;
  std::string otp_run;
  std::optional<std::string> otp_upload;
  std::string prompt;
  harness::Profile profile = harness::Profile::plain;
};

// Unknown members are ignored; everything that is wrong is told at once.
std::variant<StreamRequest, model::Problem> read_stream_request(const net::Request& request,
                                                                const StationOptions& options);

// Can it stand in a header of ours? A line break in a token would be a header of the caller's making.
bool is_token(std::string_view text);

}  // namespace sluice::station
