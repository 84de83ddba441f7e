// What somebody who has the runner's key asks it to do: refused, or tokens that can stand in a header and an agent's
// address that the operator allows.
#include "base/check.h"
#include "station/stream_request.h"
#include "tests/fuzz/pieces.h"

using namespace sluice;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  net::Request request;
  request.method = "POST";
  request.path = "/stream";
  request.headers.add("Content-Type", "application/json");
  request.body = std::string(fuzz::text_of(data, size));
  station::StationOptions options;
  options.agent_urls = {"https://sluice.example/api"};
  const auto read = station::read_stream_request(request, options);
  if (const auto* asked = std::get_if<station::StreamRequest>(&read)) {
    SLUICE_CHECK(station::is_token(asked->otp_setup) && station::is_token(asked->otp_run));
    SLUICE_CHECK(!asked->otp_upload || station::is_token(*asked->otp_upload));
    SLUICE_CHECK(net::is_allowed(asked->agent_url, options.agent_urls));
  }
  return 0;
}
