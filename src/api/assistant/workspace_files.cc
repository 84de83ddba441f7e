// Files of chats as objects of the workspace. A sandbox sees those of its own conversation only.
#include "api/answers/downloads.h"
#include "api/answers/pages.h"
#include "api/assistant/assistant.h"
#include "api/inputs/file_uploads.h"
#include "api/request/audit.h"

namespace sluice::api::assistant {
namespace {

std::optional<model::ConversationId> chat_of_sandbox(const RequestPtr& request) {
  const auto& run = request->sandbox_run();
  return run ? std::optional(run->conversation_id) : std::nullopt;
}

void with_file(const RequestPtr& request, Callback<void(const model::BagFile&)> then) {
  const auto id = request->path_id<model::FileId>();
  if (!id) return request->not_found();
  store::bag_file(request->database(), request->tenant().id, *id,
                  [request, then = std::move(then)](const Result<model::BagFile>& file) mutable {
                    if (!file) return request->fail(file.error());
                    const auto chat = chat_of_sandbox(request);
                    if (chat && file.value().chat_id != chat) return request->not_found();
                    then(file.value());
                  });
}

}  // namespace

void list_workspace_files(const RequestPtr& request) {
  const auto query = read_page_query<model::FileId>(request);
  if (!query) return;
  store::bag_files(
      request->database(), request->tenant().id, chat_of_sandbox(request), *query,
      [request, query](const Result<store::Page<model::BagFile>>& page) { answer_page(request, *query, page); });
}

void upload_workspace_files(const RequestPtr& request) {
  UploadTarget place;
  if (const auto& run = request->sandbox_run()) {
    place = {.chat = run->conversation_id, .run = run->id, .source = model::FileSource::sandbox};
  }
  take_uploads(request, place, [request](const BagFiles& files) {
    std::string out = R"({"files":[)";
    for (const auto& file : files) {
      if (&file != &files.front()) out += ',';
      model::append_json(out, file);
    }
    request->answer_json(201, out + "]}");
  });
}

void get_workspace_file(const RequestPtr& request) {
  with_file(request, [request](const model::BagFile& file) { request->answer_json(200, model::to_json(file)); });
}

void get_workspace_file_content(const RequestPtr& request) {
  with_file(request, [request](const model::BagFile& file) { send_file(request, file, Shown::saved); });
}

void delete_workspace_file(const RequestPtr& request) {
  with_file(request, [request](const model::BagFile& file) {
    record_sandbox(request, "file.deleted", file.id.text(), audit_detail_of(file), [request, id = file.id] {
      store::remove_bag_file(request->database(), request->tenant().id, id, request->now(),
                             [request](const Result<Unit>& removed) {
                               if (!removed) return request->fail(removed.error());
                               request->no_content();
                             });
    });
  });
}

}  // namespace sluice::api::assistant
