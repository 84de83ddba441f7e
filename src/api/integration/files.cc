#include "api/downloads.h"
#include "api/integration/handlers.h"
#include "api/rows.h"

namespace sluice::api::integration {

void list_run_files(const Asked& asked) {
  const auto id = asked->path_id<model::RunId>();
  if (!id) return asked->not_found();
  asked->store().files_of_run(asked->tenant().id, *id, [asked](Result<std::vector<model::RunFile>> files) {
    answer_all(asked, std::move(files));
  });
}

void get_file(const Asked& asked) { get_row<model::RunFile>(asked, &store::Store::file); }

void get_file_content(const Asked& asked) {
  const auto id = asked->path_id<model::FileId>();
  if (!id) return asked->not_found();
  asked->store().file(asked->tenant().id, *id, [asked](const Result<model::RunFile>& file) {
    if (!file) return asked->fail(file.error());
    send_file(asked, file.value());
  });
}

}  // namespace sluice::api::integration
