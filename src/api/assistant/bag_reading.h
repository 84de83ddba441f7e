// The whole bag of a chat.
#pragma once

#include <vector>

#include "api/request_context.h"

namespace sluice::api::assistant {

// Page by page. On failure the caller is told, and `then` is not called.
void read_bag(const Asked& asked, model::ConversationId chat, std::vector<model::BagFile> files,
              Callback<void(const std::vector<model::BagFile>&)> then);

}  // namespace sluice::api::assistant
