// The same files as objects of the workspace; from a box, those of its own conversation.
#include "api/assistant/handlers.h"
#include "api/bag_uploads.h"
#include "api/downloads.h"
#include "api/guest_deeds.h"
#include "api/pages.h"

namespace sluice::api::assistant {
namespace {

std::optional<model::ConversationId> chat_of_guest(const Asked& asked) {
  const auto& run = asked->guest_run();
  return run ? std::optional(run->conversation_id) : std::nullopt;
}

void with_file(const Asked& asked, Callback<void(const model::BagFile&)> then) {
  const auto id = asked->path_id<model::FileId>();
  if (!id) return asked->not_found();
  asked->store().bags().file(asked->tenant().id, *id,
                             [asked, then = std::move(then)](const Result<model::BagFile>& file) mutable {
                               if (!file) return asked->fail(file.error());
                               const auto chat = chat_of_guest(asked);
                               if (chat && file.value().chat_id != chat) return asked->not_found();
                               then(file.value());
                             });
}

}  // namespace

void list_workspace_files(const Asked& asked) {
  const auto query = read_page_query<model::FileId>(asked);
  if (!query) return;
  asked->store().bags().files(
      asked->tenant().id, chat_of_guest(asked), *query,
      [asked, query](const Result<store::Page<model::BagFile>>& page) { answer_page(asked, *query, page); });
}

void upload_workspace_files(const Asked& asked) {
  BagPlace place;
  if (const auto& run = asked->guest_run()) {
    place = {.chat = run->conversation_id, .run = run->id, .source = model::FileSource::sandbox};
  }
  take_files(asked, place, [asked](const BagFiles& files) {
    std::string out = R"({"files":[)";
    for (const auto& file : files) {
      if (&file != &files.front()) out += ',';
      model::append_json(out, file);
    }
    asked->answer_json(201, out + "]}");
  });
}

void get_workspace_file(const Asked& asked) {
  with_file(asked, [asked](const model::BagFile& file) { asked->answer_json(200, model::to_json(file)); });
}

void get_workspace_file_content(const Asked& asked) {
  with_file(asked, [asked](const model::BagFile& file) { send_file(asked, file, Shown::saved); });
}

void delete_workspace_file(const Asked& asked) {
  with_file(asked, [asked](const model::BagFile& file) {
    record_guest(asked, "file.deleted", file.id.text(), audit_detail_of(file), [asked, id = file.id] {
      asked->store().bags().remove(asked->tenant().id, id, asked->now(), [asked](const Result<Unit>& removed) {
        if (!removed) return asked->fail(removed.error());
        asked->no_content();
      });
    });
  });
}

}  // namespace sluice::api::assistant
