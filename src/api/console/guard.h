// A request with a session's cookie: whose it is, and whether it was our page that made it.
#pragma once

#include <string_view>

#include "api/console/session.h"
#include "api/request_context.h"

namespace sluice::api::console {

// The headers that every answer below /console has. `over_tls`: clients reach this server by https.
void add_page_headers(net::Headers& headers, bool over_tls);
bool is_of_console(std::string_view path);

// The session that came with the request, if it is good.
std::optional<Session> session_of(const RequestContext& asked);
// Whether it comes with one, good or not.
bool has_cookie(const RequestContext& asked);

// Browsers say where a page is from that asks. Why that is not one of ours; empty: it is, or nobody says.
std::string_view fault_of_origin(const RequestContext& asked);
// The same, and the proof that the page could read what only ours can. Requests that change nothing need none.
std::string_view fault_of(const RequestContext& asked, const Session& session);

// Who that is on this route: an admin's session is the operator on the operator's routes, and on all others whoever
// acts for the tenant it chose; without one it is the operator there too, who has no business there.
void identify(const Asked& asked, const Session& session, Callback<void(Result<Identity>)> done);

}  // namespace sluice::api::console
