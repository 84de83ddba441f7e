// The only way out of a box: an HTTP proxy that listens inside the box's network namespace.
//
// A connection is known by the listener it came through, so there is no token that an agent could
// read, lend or lose. What leaves is allowed by the agent's policy, goes to an address that was
// resolved here and is neither ours nor our network's, and carries secrets that the agent knows only
// by alias: `{{secret:ALIAS}}` is replaced on the way out, and found values on the way back in.
// TLS is looked into (with a certificate of this installation's own authority) only for hosts that
// take secrets; for others the tunnel is blind.
//
// Called from the loop's thread; answers come on the loop's thread, never from inside the call.
// Not its business: who decides (engine), what is in the box (runner).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/callback.h"
#include "base/fd.h"
#include "base/result.h"
#include "model/model.h"
#include "vault/vault.h"
#include "world/world.h"

namespace sluice::egress {

inline constexpr int lookups_at_once_max = 8;  // of names; the workers that look them up should be as many

inline constexpr uint16_t proxy_port = 3128;  // on the box's own loopback

// How a box names its workspace's API: http://workspace.sluice/tables.
inline constexpr std::string_view workspace_host = "workspace.sluice";

// Where that is. Whatever a box sends there gets `token` as its bearer, which the box never sees. The policy need not
// allow it; a rule that denies this very name, or asks for it, is obeyed.
struct WorkspaceHost {
  std::string base_url;  // "http://127.0.0.1:8080/api/workspaces/wsp_…"; may be a private address
  std::string token;
};

// Where an agent program in the box asks its model. What is talked about there may name any alias: only the key, in a
// header, is put in, and everything else is sent as it stands, so that no secret is told to a model.
struct ModelHost {
  std::string host;
  std::string key_alias;  // empty: none
};

// Whose requests they are.
struct Guest {
  model::RunId run;
  model::Policy policy;
  std::shared_ptr<vault::Secrets> secrets;
  std::optional<ModelHost> model_host;
  std::optional<WorkspaceHost> workspace;
  std::string tenant;  // tenants take turns for what all share; empty: it is not known
};

// One request, when it is over, or the sum of several to one host. Never a value, a path or a query.
struct Passage {
  std::string host;
  int port = 0;
  std::string method;      // "CONNECT" for a blind tunnel
  int status = 0;          // what the box was answered; 0: it left, or broke off
  int64_t sent_bytes = 0;  // of the body, or of the tunnel
  int64_t received_bytes = 0;
  std::vector<std::string> aliases;  // that were put in
  std::string refused;               // why it was kept from leaving; empty: it left
  int64_t duration_ms = 0;
  // Of a sum: how many requests it stands for, and how many of them were refused; `refused` says why the last one was.
  // 0: it is one request by itself.
  int64_t more = 0;
  int64_t more_refused = 0;
};

// A request that waits: for a secret that is not on file, or because the policy wants a human asked.
struct Question {
  uint64_t number = 0;
  std::string host;
  std::string method;
  std::string alias;                               // empty: about the host itself
  std::string reason;                              // of the rule that asks; may be empty
  model::SecretPlace place = model::place_header;  // where in the request the alias stands
};

class OutletListener {
 public:
  virtual ~OutletListener() = default;
  virtual void on_passage(Passage passage) = 0;
  // Answered by Outlet::settle(). While it waits the box's connection stays open.
  virtual void on_question(Question question) = 0;
};

// The way out of one box. Dropping it closes everything.
class Outlet {
 public:
  virtual ~Outlet() = default;
  // From now on requests are this guest's; `listener` hears of them. What was under way for the guest
  // before is broken off.
  virtual void serve(Guest guest, OutletListener& listener) = 0;
  // Ends what is under way and gives what is to be told of it, and what was on its way to the listener: neither is told
  // by serve(), by close_gate() or when this is dropped, for they must not call back. The guest stays.
  [[nodiscard]] virtual std::vector<Passage> break_off() = 0;
  // Nobody's: whatever comes is refused, and what waits too.
  virtual void close_gate() = 0;
  // The request goes on (its secret is looked for again), or is refused with these words.
  virtual void settle(uint64_t number, bool go_on, std::string_view words) = 0;
  // Held: no request begins to leave, nothing more goes through tunnels, and no time passes for the box, until told
  // otherwise. Requests that have left are answered.
  virtual void hold(bool held) = 0;
  // How many requests with a method other than GET, HEAD and OPTIONS, or through a blind tunnel, have left for this
  // guest: what a command that is run again would do twice.
  virtual int64_t sent_for_good() const = 0;
};

// The one host that a sandbox may reach in which no agent runs: that of the repository which is fetched there.
struct SingleHost {
  std::string name;  // in lower case, or an address without brackets
  int port = 0;
  bool public_only = true;      // otherwise at any address, also of this machine
  bool asks_by_socks = true;    // of SOCKS 5; otherwise every connection leads there from its first byte
  int64_t lifetime_ms_max = 0;  // of a connection
  std::string tenant;           // as in Guest
};

// Dropping it closes everything.
class SingleHostWay {
 public:
  virtual ~SingleHostWay() = default;
  // Why the connection that was asked for last was not made (`denied`: it may not be); empty: it was.
  virtual const std::optional<Error>& fault() const = 0;
};

struct EgressOptions {
  std::string ca_dir;                                 // ca.pem and ca.key, made when they are not there
  std::string upstream_ca_file;                       // PEM; empty: the system's
  std::string house_certificate_file;                 // PEM: our own server's, whatever name it has; empty: none
  std::map<std::string, std::string> host_addresses;  // names that are not asked of DNS
  std::vector<std::string> private_addresses;         // CIDR ranges that may be reached though they are private
  bool plaintext_secrets = false;                     // secrets may go into http:// requests
  int64_t connect_ms_max = 10'000;
  int64_t idle_ms_max = 300'000;
  int64_t head_ms_max = 30'000;  // from the first byte of a request's head to its last
  int64_t question_ms_max = 0;   // 0: as long as the run lives
  int connections_per_box_max = 256;
  int64_t single_passages_max = 1'000;  // of a guest; later ones are summed up by host
  int64_t sum_ms = 60'000;              // between two reports of such sums
  int64_t refusals_at_once = 1'000;     // of a guest, and requests that failed; then its requests are slowed down
  int64_t refusals_per_second = 50;     // to so many refusals
};

class Egress {
 public:
  virtual ~Egress() = default;
  // `listener_fd` accepts what is sent to the box's 127.0.0.1:proxy_port.
  [[nodiscard]] virtual std::unique_ptr<Outlet> open(OwnedFd listener_fd) = 0;
  // The same for a sandbox that may reach one host alone.
  [[nodiscard]] virtual std::unique_ptr<SingleHostWay> open_single_host(OwnedFd listener_fd, SingleHost to) = 0;
  // PEM: the system's authorities and our own. To be seen in boxes as /etc/ssl/certs/ca-certificates.crt.
  virtual const std::string& ca_bundle_file() const = 0;
};

// `invalid` or `unavailable`, in words. `workers` resolves names.
Result<std::unique_ptr<Egress>> make_egress(EgressOptions options, world::Reactor& reactor, world::Workers& workers,
                                            world::Entropy& entropy, world::Log& log, world::Metrics& metrics);

// What commands in a box need to find the proxy and to trust it.
std::map<std::string, std::string> box_environment();

// Passage as the body of an `egress` event.
std::string to_json(const Passage& passage);

}  // namespace sluice::egress
