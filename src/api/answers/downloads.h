// Sends files and zips as downloads that no browser executes with this server's origin. Large files are written as fast
// as the client reads them, so that a slow client does not keep their bytes in memory.
#pragma once

#include <string>
#include <vector>

#include "api/request/request_context.h"

namespace sluice::api {

enum class Shown : uint8_t {
  saved,   // as an attachment
  in_page  // shown by the browser, if harmless: pictures and plain text
};

void send_bundle(const RequestPtr& request, const model::Skill& skill);
void send_file(const RequestPtr& request, const model::RunFile& file);
void send_file(const RequestPtr& request, const model::BagFile& file, Shown shown);
// Sends a file that was made for this request.
void send_content(const RequestPtr& request, files::Content content, const std::string& name, std::string_view type);

struct ZippedFile {
  std::string name;
  std::string sha256;
  int64_t size_bytes = 0;
};

// Sends a zip of at most 500 files and 500 MB. Repeated names are made unique.
void send_zip(const RequestPtr& request, model::TenantId tenant, std::vector<ZippedFile> files);

}  // namespace sluice::api
