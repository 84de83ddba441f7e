// The checked request of a POST /stream. Pure.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "dispatch/envelope.h"
#include "net/net.h"
#include "station/station.h"

namespace sluice::station {

struct StreamRequest {
  std::string agent_url;  // without a slash at its end
  std::string otp_setup;
  std::string otp_run;
  std::optional<std::string> otp_upload;
  std::string prompt;
  dispatch::Profile profile = dispatch::Profile::plain;
  std::string dispatch;  // its name, which the caller may choose; empty: it did not
  std::string reader;    // the reader's name, if the caller gives one
  bool careful = false;  // no step begins before the line about it is acknowledged; only with `keep`
  Millis keep{0};        // after the caller's connection broke; 0: it dies with it (S-10)
};

// Unknown members are ignored; all errors are reported together.
std::variant<StreamRequest, model::Problem> read_stream_request(const net::Request& request,
                                                                const StationOptions& options);

// What a caller may call a dispatch, or itself: 1 to 64 letters, digits, "_" and "-".
bool is_name(std::string_view text);

// Can it stand in a header of ours? A line break in a token would be a header of the caller's making.
bool is_token(std::string_view text);

}  // namespace sluice::station
