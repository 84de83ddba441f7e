// What the results of a server say to a model that reads text.
#pragma once

#include "base/json.h"
#include "mcp/mcp.h"

namespace sluice::mcp {

// Of the response to a call of a tool, or to the reading of a resource.
ToolAnswer answer_of(json::Value response);

// "no such row", from an error object.
std::string error_words(json::Value error);

}  // namespace sluice::mcp
