// Files of chats.
#include "api/answers/downloads.h"
#include "api/answers/pages.h"
#include "api/assistant/assistant.h"
#include "api/assistant/chats.h"
#include "api/inputs/file_uploads.h"

namespace sluice::api::assistant {
namespace {

constexpr std::string_view get_parameters[] = {"inline"};

// A file as a row of a list.
struct ShownFile {
  model::FileId id;
  std::string json;
};
void append_row(std::string& out, const ShownFile& file) { out += file.json; }

ShownFile shown(const model::BagFile& file) {
  ShownFile out{file.id, {}};
  json::Writer writer(out.json);
  model::append_chat_file(writer, file);
  return out;
}

void tell_kept(const RequestPtr& request, const BagFiles& files) {
  std::string out;
  json::Writer writer(out);
  writer.begin_object().key("files").begin_array();
  for (const auto& file : files) model::append_chat_file(writer, file);
  writer.end_array().end_object();
  request->answer_json(201, std::move(out));
}

}  // namespace

void read_files(const RequestPtr& request, model::ConversationId chat, std::vector<model::BagFile> files,
                Callback<void(const std::vector<model::BagFile>&)> then) {
  store::PageQuery<model::FileId> query{.limit = limits::page_max};
  if (!files.empty()) query.starting_after = files.back().id;
  store::bag_files(request->database(), request->tenant().id, chat, query,
                   [request, chat, files = std::move(files),
                    then = std::move(then)](const Result<store::Page<model::BagFile>>& page) mutable {
                     if (!page) return request->fail(page.error());
                     files.insert(files.end(), page.value().rows.begin(), page.value().rows.end());
                     if (page.value().has_more) return read_files(request, chat, std::move(files), std::move(then));
                     then(files);
                   });
}

void upload_chat_files(const RequestPtr& request) {
  with_chat_of_path(request, [request](const model::Conversation& chat) {
    take_uploads(request, {.chat = chat.id}, [request](const BagFiles& files) { tell_kept(request, files); });
  });
}

void upload_files(const RequestPtr& request) {
  take_uploads(request, {}, [request](const BagFiles& files) { tell_kept(request, files); });
}

void list_chat_files(const RequestPtr& request) {
  const auto query = read_page_query<model::FileId>(request);
  if (!query) return;
  with_chat_of_path(request, [request, query = *query](const model::Conversation& chat) {
    store::bag_files(request->database(), request->tenant().id, chat.id, query,
                     [request, query](const Result<store::Page<model::BagFile>>& page) {
                       if (!page) return answer_page(request, query, page);
                       store::Page<ShownFile> files{.has_more = page.value().has_more};
                       for (const auto& file : page.value().rows) files.rows.push_back(shown(file));
                       request->answer_json(200, page_json(files, query));
                     });
  });
}

void get_chat_files_zip(const RequestPtr& request) {
  with_chat_of_path(request, [request](const model::Conversation& chat) {
    read_files(request, chat.id, {}, [request](const std::vector<model::BagFile>& files) {
      std::vector<ZippedFile> zipped;
      for (const auto& file : files) zipped.push_back({file.name, file.sha256, file.size_bytes});
      send_zip(request, request->tenant().id, std::move(zipped));
    });
  });
}

void get_file(const RequestPtr& request) {
  Findings findings;
  const Query query(request, get_parameters, findings);
  const auto shown_inline = query.integer("inline", 0, 1).value_or(0) == 1;
  if (refused(request, findings)) return;
  const auto id = request->path_id<model::FileId>();
  if (!id) return request->not_found();
  store::bag_file(request->database(), request->tenant().id, *id,
                  [request, shown_inline](const Result<model::BagFile>& file) {
                    if (!file) return request->fail(file.error());
                    send_file(request, file.value(), shown_inline ? Shown::in_page : Shown::saved);
                  });
}

void delete_file(const RequestPtr& request) {
  const auto id = request->path_id<model::FileId>();
  if (!id) return request->not_found();
  store::remove_bag_file(request->database(), request->tenant().id, *id, request->now(),
                         [request](const Result<Unit>& removed) {
                           if (!removed) return request->fail(removed.error());
                           request->no_content();
                         });
}

}  // namespace sluice::api::assistant
