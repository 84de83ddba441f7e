// Many contents as one zip.
#pragma once

#include <string>
#include <vector>

#include "api/request_context.h"

namespace sluice::api {

struct ZippedFile {
  std::string name;
  std::string sha256;
  int64_t size_bytes = 0;
};

// At most 500 files and 500 MB; names that come twice are made unique.
void send_zip(const Asked& asked, model::TenantId tenant, std::vector<ZippedFile> files);

}  // namespace sluice::api
