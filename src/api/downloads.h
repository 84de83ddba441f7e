// Contents on their way out, as files to be saved: nothing that a browser would run in our name. Large ones are written
// as they are taken, so that a slow reader does not hold their bytes in memory.
#pragma once

#include "api/request_context.h"

namespace sluice::api {

enum class Shown : uint8_t {
  saved,   // as an attachment
  in_page  // where that is harmless: pictures and plain text
};

void send_bundle(const Asked& asked, const model::Skill& skill);
void send_file(const Asked& asked, const model::RunFile& file);
void send_file(const Asked& asked, const model::BagFile& file, Shown shown);
// One that was made for this request.
void send_content(const Asked& asked, files::Content content, const std::string& name, std::string_view type);

}  // namespace sluice::api
