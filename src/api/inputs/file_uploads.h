// Uploads of files: all files of a request are checked before the first is stored, and either all are stored or none
//
#pragma once

#include <optional>
#include <vector>

#include "api/request/request_context.h"
#include "base/task.h"

namespace sluice::api {

// The socket is not read beyond this. The configured limit is lower.
inline constexpr std::size_t upload_request_bytes_max = 512 * 1024 * 1024;
inline constexpr std::size_t upload_request_files_max = 50;

struct UploadTarget {
  std::optional<model::ConversationId> chat;
  std::optional<model::RunId> run;  // set if the sandbox of this run sends the files
  model::FileSource source = model::FileSource::upload;
};

using BagFiles = std::vector<model::BagFile>;

// The files of the request, which are stored then.
Task<BagFiles> uploaded_files(const RequestPtr& request, UploadTarget target);

// The detail of an audit entry, as JSON.
std::string audit_detail_of(const model::BagFile& file);

// A file name without folders that is safe to show and to write; empty if nothing is left of it, or too much.
std::string clean_file_name(std::string_view given);

}  // namespace sluice::api
