#include "api/zips.h"

#include "api/downloads.h"
#include "api/worker_job.h"
#include "workspace/workspace.h"

namespace sluice::api {
namespace {

constexpr int64_t zip_bytes_max = 500LL * 1000 * 1000;

// On a worker's thread.
Result<files::Content> zip(const std::vector<ZippedFile>& files, const files::Contents& contents,
                           const std::string& scratch_dir) {
  std::vector<files::Content> open;
  std::vector<workspace::ZipEntry> entries;
  for (const auto& file : files) {
    auto content = contents.open(file.sha256);
    if (!content) return Error{ErrorKind::unavailable, "read " + file.name + ": " + content.error().what};
    open.push_back(std::move(content).take());
    entries.push_back({file.name, open.back().bytes});
  }
  const auto made = files::make_scratch(scratch_dir);
  if (!made) return made.error();
  if (auto written = workspace::write_zip(made.value().get(), entries); !written) return written.error();
  return files::map_file(made.value().get(), "a zip");
}

}  // namespace

void send_zip(const Asked& asked, model::TenantId tenant, std::vector<ZippedFile> files) {
  int64_t bytes = 0;
  for (const auto& file : files) bytes += file.size_bytes;
  if (bytes > zip_bytes_max || files.size() > limits::bag_files_max) {
    return asked->problem(model::Slug::content_too_large,
                          "A zip holds at most 500 files and 500 MB: get the files one by one.");
  }
  on_worker<files::Content>(
      asked, tenant,
      [files = std::move(files), &contents = asked->surface().needs.contents,
       scratch_dir = asked->surface().options.scratch_dir] { return zip(files, contents, scratch_dir); },
      [asked](Result<files::Content> made) {
        if (!made) return asked->fail(made.error());
        send_content(asked, std::move(made).take(), "files.zip", "application/zip");
      });
}

}  // namespace sluice::api
