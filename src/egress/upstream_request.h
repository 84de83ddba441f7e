// A parsed request from a sandbox, the head that is sent upstream for it, and responses of the proxy itself. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "egress/destination.h"
#include "egress/workspace_api.h"
#include "http/body.h"

namespace sluice::egress {

struct UpstreamRequest {
  http::RequestHead head;
  Target target;
  http::BodyPlan body;
  bool keeps_client = false;  // the sandbox may send another request on this connection
  std::optional<Forwarding> forwarding;

  const Destination& leads_to() const { return forwarding ? forwarding->to : target.to; }
};

// Reads a parsed head; `inside` is the destination of the CONNECT around it, null if there is none.
std::optional<Refusal> read_request(http::RequestHead head, const Destination* inside, UpstreamRequest& out);

// True if the request must not be sent twice by mistake.
bool changes_things(std::string_view method);

struct OutgoingHead {
  const UpstreamRequest& request;
  const http::Headers& fields;  // with secrets inserted
  const std::string& query;     // with secrets inserted
  http::BodyPlan body;          // as it will be sent
  bool identity = false;        // the response must not be compressed
};
std::string upstream_head(const OutgoingHead& head);

// A complete response of the proxy itself.
std::string own_answer(int status, std::string_view words, bool keeps_client, std::string_view method);

}  // namespace sluice::egress
