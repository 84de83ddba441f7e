// The console's own surface: its pages, and the sessions of people who use them. Everything else that the pages
// show comes from the other surfaces, which take a session's cookie instead of a key.
#pragma once

#include "api/routes.h"

namespace sluice::api::console {

void get_page(const Asked& asked);
void get_asset(const Asked& asked);

void open_session(const Asked& asked);
void get_session(const Asked& asked);
void update_session(const Asked& asked);
void close_session(const Asked& asked);

// For the operator: a code that opens the console once.
void create_code(const Asked& asked);

}  // namespace sluice::api::console
