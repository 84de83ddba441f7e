// Files of chats (A-5).
#include "api/answers/downloads.h"
#include "api/answers/pages.h"
#include "api/assistant/chats.h"
#include "api/assistant/turns.h"
#include "api/handlers.h"
#include "api/inputs/file_uploads.h"
#include "api/request/audit.h"

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

void answer_kept(const RequestPtr& request, const BagFiles& files) {
  std::string out;
  json::Writer writer(out);
  writer.begin_object().key("files").begin_array();
  for (const auto& file : files) model::append_chat_file(writer, file);
  writer.end_array().end_object();
  request->answer_json(201, std::move(out));
}

}  // namespace

Task<std::vector<model::BagFile>> read_files(const RequestPtr& request, model::ConversationId chat) {
  std::vector<model::BagFile> files;
  while (true) {
    store::PageQuery<model::FileId> query{.limit = limits::page_max};
    if (!files.empty()) query.starting_after = files.back().id;
    auto page = co_await found<store::Page<model::BagFile>>(request, &store::bag_files, request->tenant().id,
                                                            std::optional(chat), query);
    std::ranges::move(page.rows, std::back_inserter(files));
    if (!page.has_more) co_return files;
  }
}

namespace {

Task<> upload_to_chat(RequestPtr request) {
  const auto chat = co_await chat_of_path(request);
  answer_kept(request, co_await uploaded_files(request, {.chat = chat.id}));
}

Task<> upload(RequestPtr request) { answer_kept(request, co_await uploaded_files(request, {})); }

Task<> answer_files(RequestPtr request, store::PageQuery<model::FileId> query) {
  const auto chat = co_await chat_of_path(request);
  const auto page = co_await asked<store::Page<model::BagFile>>(request, &store::bag_files, request->tenant().id,
                                                                std::optional(chat.id), query);
  if (!page) co_return answer_page(request, query, page);
  store::Page<ShownFile> files{.has_more = page.value().has_more};
  for (const auto& file : page.value().rows) files.rows.push_back(shown(file));
  request->answer_json(200, page_json(files, query));
}

Task<> answer_zip(RequestPtr request) {
  const auto chat = co_await chat_of_path(request);
  std::vector<ZippedFile> zipped;
  for (const auto& file : co_await read_files(request, chat.id)) {
    zipped.push_back({file.name, file.sha256, file.size_bytes});
  }
  send_zip(request, request->tenant().id, std::move(zipped));
}

}  // namespace

void upload_chat_files(const RequestPtr& request) { start_unowned(upload_to_chat(request)); }

void upload_files(const RequestPtr& request) { start_unowned(upload(request)); }

void list_chat_files(const RequestPtr& request) {
  if (const auto query = read_page_query<model::FileId>(request)) start_unowned(answer_files(request, *query));
}

void get_chat_files_zip(const RequestPtr& request) { start_unowned(answer_zip(request)); }

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

// ── the same files as objects of the workspace; a sandbox sees those of its own conversation only ──

namespace {

std::optional<model::ConversationId> chat_of_sandbox(const RequestPtr& request) {
  const auto& run = request->caller().sandbox_run;
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

namespace {

Task<> upload_to_workspace(RequestPtr request) {
  UploadTarget target;
  if (const auto& run = request->caller().sandbox_run) {
    target = {.chat = run->conversation_id, .run = run->id, .source = model::FileSource::sandbox};
  }
  const auto files = co_await uploaded_files(request, target);
  std::string out = R"({"files":[)";
  for (const auto& file : files) {
    if (&file != &files.front()) out += ',';
    model::append_json(out, file);
  }
  request->answer_json(201, out + "]}");
}

}  // namespace

void upload_workspace_files(const RequestPtr& request) { start_unowned(upload_to_workspace(request)); }

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
