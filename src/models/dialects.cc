#include "models/dialects.h"

namespace sluice::models {

const Dialect* find_dialect(std::string_view name) {
  for (const auto* dialect : {&anthropic_dialect(), &openai_responses_dialect(), &openai_chat_dialect()}) {
    if (dialect->name() == name) return dialect;
  }
  return nullptr;
}

std::vector<std::pair<std::string, std::string>> openai_headers(const Endpoint& endpoint) {
  std::vector<std::pair<std::string, std::string>> headers = {{"content-type", "application/json"},
                                                              {"accept", "text/event-stream"}};
  if (!endpoint.api_key.empty()) headers.emplace_back("authorization", "Bearer " + endpoint.api_key);
  return headers;
}

std::string_view openai_role(model::Role role) {
  switch (role) {
    case model::Role::user: return "user";
    case model::Role::assistant: return "assistant";
    case model::Role::system: return "system";
  }
  return "user";
}

}  // namespace sluice::models
