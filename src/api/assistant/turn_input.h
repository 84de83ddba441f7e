// A turn of a chat, as a browser sends it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/request/request_context.h"

namespace sluice::api::assistant {

struct TurnInput {
  std::string message;
  std::optional<model::ConversationId> chat;  // empty: a new chat
  std::optional<model::AgentId> agent;
  std::vector<model::FileId> attachments;
  std::string sandbox_url;
  bool keeps_on = false;  // continue without a reader
  bool hold = true;       // wait if all slots are taken
};

// Empty: the turn is invalid, and the request has been answered.
std::optional<TurnInput> read_turn(const RequestPtr& request);

// The reason why no runner at that URL (S-8) may carry out runs, in words that follow its name; empty if it may.
std::string fault_of_sandbox_url(const RequestPtr& request, std::string_view url);

// The title of a chat without a name: the first line of its first message.
std::string title_of(std::string_view message);

}  // namespace sluice::api::assistant
