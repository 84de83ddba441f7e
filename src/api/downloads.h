// Contents on their way out, as files to be saved: nothing that a browser would run in our name.
#pragma once

#include "api/request_context.h"

namespace sluice::api {

void send_bundle(const Asked& asked, const model::Skill& skill);
void send_file(const Asked& asked, const model::RunFile& file);

}  // namespace sluice::api
