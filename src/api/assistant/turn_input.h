// A turn of a chat as a browser asks for it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/request/request_context.h"

namespace sluice::api::assistant {

struct TurnInput {
  std::string message;
  std::optional<model::ConversationId> chat;  // empty: it begins one
  std::optional<model::AgentId> agent;
  std::vector<model::FileId> attachments;
  std::string sandbox_url;
  bool keeps_on = false;  // when nobody reads it any more
  bool hold = true;       // when all places are taken
};

// Empty when it was wrong and the caller has been told so.
std::optional<TurnInput> read_turn(const RequestPtr& request);

// What is wrong with that URL of a runner (S-8), in words that follow its name; empty: it may carry runs.
std::string fault_of_sandbox_url(const RequestPtr& request, std::string_view url);

// A chat that nobody has named is called by the first line of its first message.
std::string title_of(std::string_view message);

}  // namespace sluice::api::assistant
