#include "wire/chat_messages.h"

namespace sluice::wire {
namespace {

std::string_view name_of(ChatAnswer::Status status) {
  switch (status) {
    case ChatAnswer::Status::completed: return "completed";
    case ChatAnswer::Status::failed: return "failed";
    case ChatAnswer::Status::cancelled: return "cancelled";
  }
  return "";
}

void append_head(json::Writer& writer, model::MessageId id, std::string_view role) {
  writer.begin_object().key("id").string(id.text()).key("role").string(role);
}

void append_attachment(json::Writer& writer, const model::Attachment& attached, model::ConversationId chat) {
  model::BagFile file;
  file.id = model::FileId::parse(attached.id).value_or(model::FileId{});
  file.chat_id = chat;
  file.name = attached.name;
  file.type = attached.type;
  file.size_bytes = attached.size_bytes;
  file.sha256 = attached.sha256;
  file.source = model::file_source_named(attached.source).value_or(model::FileSource::upload);
  file.created_at = {attached.created_at_ms};
  model::append_chat_file(writer, file);
}

}  // namespace

void append_json(json::Writer& writer, const model::Usage& usage) {
  writer.begin_object().key("inputTokens").integer(usage.input_tokens);
  writer.key("outputTokens").integer(usage.output_tokens).end_object();
}

void append_json(json::Writer& writer, const ChatQuestion& question) {
  append_head(writer, question.id, "user");
  writer.key("content").begin_array().begin_object().key("type").string("text").key("text").string(question.text);
  writer.end_object().end_array().key("fileAttachments").begin_array();
  for (const auto& file : question.attachments) append_attachment(writer, file, question.chat);
  writer.end_array().key("createdAt").integer(question.created_at.ms);
  writer.key("status").string("completed").end_object();
}

void append_json(json::Writer& writer, const ChatAnswer& answer) {
  append_head(writer, answer.id, "assistant");
  answer.blocks.append_json(writer.key("content"));
  writer.key("fileAttachments").begin_array().end_array();
  writer.key("createdAt").integer(answer.created_at.ms).key("status").string(name_of(answer.status));
  if (answer.status != ChatAnswer::Status::completed) {
    writer.key("error").begin_object().key("code").string(answer.error_code);
    writer.key("message").string(answer.error_text).end_object();
  }
  if (answer.usage) append_json(writer.key("usage"), *answer.usage);
  writer.end_object();
}

}  // namespace sluice::wire
