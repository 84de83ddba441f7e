// The dialects, one a file (each has no state, so there is one of each), and what OpenAI's two share.
#pragma once

#include "models/models.h"

namespace sluice::models {

const Dialect& anthropic_dialect();
const Dialect& openai_responses_dialect();
const Dialect& openai_chat_dialect();

std::vector<std::pair<std::string, std::string>> openai_headers(const Endpoint& endpoint);
std::string_view openai_role(model::Role role);

}  // namespace sluice::models
