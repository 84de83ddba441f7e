// Files of chats.
#include "api/assistant/bag_reading.h"
#include "api/assistant/handlers.h"
#include "api/assistant/turn_stream.h"
#include "api/bag_uploads.h"
#include "api/downloads.h"
#include "api/pages.h"
#include "api/zips.h"

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

void tell_kept(const Asked& asked, const BagFiles& files) {
  std::string out;
  json::Writer writer(out);
  writer.begin_object().key("files").begin_array();
  for (const auto& file : files) model::append_chat_file(writer, file);
  writer.end_array().end_object();
  asked->answer_json(201, std::move(out));
}

}  // namespace

void read_bag(const Asked& asked, model::ConversationId chat, std::vector<model::BagFile> files,
              Callback<void(const std::vector<model::BagFile>&)> then) {
  store::PageQuery<model::FileId> query{.limit = limits::page_max};
  if (!files.empty()) query.starting_after = files.back().id;
  asked->store().bags().files(asked->tenant().id, chat, query,
                              [asked, chat, files = std::move(files),
                               then = std::move(then)](const Result<store::Page<model::BagFile>>& page) mutable {
                                if (!page) return asked->fail(page.error());
                                files.insert(files.end(), page.value().rows.begin(), page.value().rows.end());
                                if (page.value().has_more)
                                  return read_bag(asked, chat, std::move(files), std::move(then));
                                then(files);
                              });
}

void upload_chat_files(const Asked& asked) {
  with_chat_of_path(asked, [asked](const model::Conversation& chat) {
    take_files(asked, {.chat = chat.id}, [asked](const BagFiles& files) { tell_kept(asked, files); });
  });
}

void upload_files(const Asked& asked) {
  take_files(asked, {}, [asked](const BagFiles& files) { tell_kept(asked, files); });
}

void list_chat_files(const Asked& asked) {
  const auto query = read_page_query<model::FileId>(asked);
  if (!query) return;
  with_chat_of_path(asked, [asked, query = *query](const model::Conversation& chat) {
    asked->store().bags().files(asked->tenant().id, chat.id, query,
                                [asked, query](const Result<store::Page<model::BagFile>>& page) {
                                  if (!page) return answer_page(asked, query, page);
                                  store::Page<ShownFile> files{.has_more = page.value().has_more};
                                  for (const auto& file : page.value().rows) files.rows.push_back(shown(file));
                                  asked->answer_json(200, page_json(files, query));
                                });
  });
}

void get_chat_files_zip(const Asked& asked) {
  with_chat_of_path(asked, [asked](const model::Conversation& chat) {
    read_bag(asked, chat.id, {}, [asked](const std::vector<model::BagFile>& files) {
      std::vector<ZippedFile> zipped;
      for (const auto& file : files) zipped.push_back({file.name, file.sha256, file.size_bytes});
      send_zip(asked, asked->tenant().id, std::move(zipped));
    });
  });
}

void get_file(const Asked& asked) {
  Findings findings;
  const Query query(asked, get_parameters, findings);
  const auto shown_inline = query.integer("inline", 0, 1).value_or(0) == 1;
  if (refused(asked, findings)) return;
  const auto id = asked->path_id<model::FileId>();
  if (!id) return asked->not_found();
  asked->store().bags().file(asked->tenant().id, *id, [asked, shown_inline](const Result<model::BagFile>& file) {
    if (!file) return asked->fail(file.error());
    send_file(asked, file.value(), shown_inline ? Shown::in_page : Shown::saved);
  });
}

void delete_file(const Asked& asked) {
  const auto id = asked->path_id<model::FileId>();
  if (!id) return asked->not_found();
  asked->store().bags().remove(asked->tenant().id, *id, asked->now(), [asked](const Result<Unit>& removed) {
    if (!removed) return asked->fail(removed.error());
    asked->no_content();
  });
}

}  // namespace sluice::api::assistant
