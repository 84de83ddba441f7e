// Webhooks: notifies hosts of what they would otherwise poll for, such as a new or a resolved approval.
//
// A notice is stored in the same write as the event it reports, so none is lost. Each is sent until the host
// accepts it (2xx), with growing delays, and given up after a day. A host may get a notice twice, with the same
// id. Called from the loop's thread.
// Not its business: what is worth a notice (engine).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "net/net.h"
#include "store/store.h"
#include "world/world.h"

namespace sluice::notices {

struct PostOptions {
  std::string signing_root;               // tenants' secrets are derived from it
  std::vector<std::string> webhook_urls;  // the beginnings of URLs that may be called; "*": public addresses
  int64_t first_ms = 1'000;               // before the second attempt; doubled each time, at most an hour
  int64_t give_up_ms = 24LL * 3600 * 1000;
  int at_once_max = 8;
};

class Post {
 public:
  virtual ~Post() = default;
  // There may be something new. Cheap; also called at the start.
  virtual void nudge() = 0;
};

std::unique_ptr<Post> make_post(PostOptions options, store::Store& store, net::Client& client, world::Loop& loop,
                                world::Log& log, world::Metrics& metrics);

// What a tenant's notices are signed with: shown to its host, stored nowhere.
std::string webhook_secret(std::string_view signing_root, model::TenantId tenant);
// The header Sluice-Signature: t=<unix seconds>,v1=<hex of hmac-sha256 of "<t>.<body>">.
std::string signature(std::string_view secret, std::string_view seconds, std::string_view body);

}  // namespace sluice::notices
