// A request that was understood, and how it is spelt on its way out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "egress/destination.h"
#include "egress/workspace_door.h"
#include "http/body.h"

namespace sluice::egress {

struct Errand {
  http::RequestHead head;
  Target target;
  http::BodyPlan body;
  bool keeps_client = false;  // the box may send another request on this connection
  std::optional<Forwarding> forwarding;

  const Destination& leads_to() const { return forwarding ? forwarding->to : target.to; }
};

// From a parsed head; `inside` is where the CONNECT led, null when there was none.
std::optional<Refusal> read_errand(http::RequestHead head, const Destination* inside, Errand& out);

// Not to be done twice by mistake.
bool changes_things(std::string_view method);

struct Departure {
  const Errand& errand;
  const http::Headers& fields;  // with their secrets
  const std::string& query;     // with its secrets
  http::BodyPlan body;          // as it will be sent
  bool identity = false;        // the answer must not be compressed
};
std::string upstream_head(const Departure& departure);

// A whole answer of our own.
std::string own_answer(int status, std::string_view words, bool keeps_client, std::string_view method);

}  // namespace sluice::egress
