// How a page that is part of the program goes out: gzipped to whoever takes that, and only if it is not there already.
#pragma once

#include "api/assets.h"
#include "api/request_context.h"

namespace sluice::api {

// `headers` go with it, Cache-Control among them.
void answer_asset(const Asked& asked, const Asset& asset, net::Headers headers);

}  // namespace sluice::api
