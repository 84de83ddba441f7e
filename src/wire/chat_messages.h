// The two messages of a chat's turn, as they are kept and shown: what somebody asked, with the files that came
// along, and what the Assistant made of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/model.h"
#include "wire/chat_blocks.h"

namespace sluice::wire {

struct ChatQuestion {
  model::MessageId id;
  model::ConversationId chat;
  std::string_view text;
  const std::vector<model::Attachment>& attachments;
  Timestamp created_at;
};

struct ChatAnswer {
  enum class Status : uint8_t { completed, failed, cancelled };

  model::MessageId id;
  Timestamp created_at;
  ChatBlocks blocks;
  Status status = Status::completed;
  std::string error_code;  // of one that is not completed, as the next
  std::string error_text;
  std::optional<model::Usage> usage;
};

void append_json(json::Writer& writer, const ChatQuestion& question);
void append_json(json::Writer& writer, const ChatAnswer& answer);
void append_json(json::Writer& writer, const model::Usage& usage);

}  // namespace sluice::wire
