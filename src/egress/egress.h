// The egress proxy: the only way from a sandbox to the network. An HTTP proxy listens inside the sandbox's network
// namespace and handles the connections here.
//
// A connection is identified by the listener it came through, so there is no token that an agent could read or lose.
// The agent's policy says which hosts a request may reach; their addresses are resolved here and must be neither ours
// nor private. The agent knows secrets by alias only: `{{secret:ALIAS}}` is replaced in requests, and values are
// replaced by aliases in responses. TLS is decrypted (with a certificate of this installation's own authority) only for
// hosts that take secrets; all other tunnels carry bytes that the proxy cannot read.
//
// Called from the loop's thread; callbacks come on the loop's thread, never from inside the call. This module neither
// makes policy decisions for humans (engine) nor knows what runs in the sandbox (runner). README.md shows the flow.
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
#include "model/event.h"
#include "model/model.h"
#include "vault/vault.h"
#include "world/world.h"

namespace sluice::egress {

inline constexpr int lookups_at_once_max = 8;  // of names; as many as there are workers for them

inline constexpr uint16_t proxy_port = 3128;  // on the sandbox's own loopback

// The host name by which a sandbox reaches the API of its workspace: http://workspace.sluice/tables.
inline constexpr std::string_view workspace_host = "workspace.sluice";

// Where that API is. Requests to it get `token` as their bearer, which the sandbox never sees. The policy need not
// allow the host; a rule that denies this very name, or asks a human about it, is obeyed.
struct WorkspaceHost {
  std::string base_url;  // "http://127.0.0.1:8080/api/workspaces/wsp_…"; may be a private address
  std::string token;
};

// Where an agent program in the sandbox asks its model. Requests to this host may mention any alias: only the key, in a
// header, is replaced by its value; everything else is sent as it is, so that no secret reaches a model.
struct ModelHost {
  std::string host;
  std::string key_alias;  // empty: none
};

// The run whose requests leave a sandbox, and what it may reach.
struct RunAccess {
  model::RunId run;
  model::Policy policy;
  std::shared_ptr<vault::Secrets> secrets;
  std::optional<ModelHost> model_host;
  std::optional<WorkspaceHost> workspace;
  std::string tenant;  // tenants take turns for shared resources; empty: not known
};

// One finished request, or the sum of several to one host. It never holds a secret's value, a path or a query.
struct RequestRecord {
  std::string host;
  int port = 0;
  std::string method;      // "CONNECT" for a tunnel that is not decrypted
  int status = 0;          // sent to the sandbox; 0: the sandbox left, or the connection broke
  int64_t sent_bytes = 0;  // of the body, or of the tunnel
  int64_t received_bytes = 0;
  std::vector<std::string> aliases;  // of the secrets that were inserted
  std::string refused;               // the reason why the request was not let out; empty: it was
  int64_t duration_ms = 0;
  // In a sum: how many requests it stands for, and how many of them were refused; `refused` is the reason of the last
  // refusal. 0: this is a single request.
  int64_t more = 0;
  int64_t more_refused = 0;
};

// A request that waits for a secret that is not stored, or for a human's decision because the policy requires it.
struct Question {
  uint64_t number = 0;
  std::string host;
  std::string method;
  std::string alias;                               // empty: the question is about the host itself
  std::string reason;                              // given by the rule that asks; may be empty
  model::SecretPlace place = model::place_header;  // where in the request the alias stands
};

class SandboxProxyListener {
 public:
  virtual ~SandboxProxyListener() = default;
  virtual void on_request(RequestRecord record) = 0;
  // Answered by SandboxProxy::settle(). The sandbox's connection stays open until then.
  virtual void on_question(Question question) = 0;
};

// The proxy of one sandbox. Destroying it closes all of its connections.
class SandboxProxy {
 public:
  virtual ~SandboxProxy() = default;
  // From now on requests belong to this run, and `listener` receives their records. Requests of the run before are
  // broken off.
  virtual void serve(RunAccess access, SandboxProxyListener& listener) = 0;
  // Ends all requests and returns their records, with those that were on their way to the listener. serve(),
  // refuse_all() and the destructor do not report them, for they must not call back. The run stays the same.
  [[nodiscard]] virtual std::vector<RequestRecord> break_off() = 0;
  // The sandbox belongs to no run now: all requests are refused, including those that wait.
  virtual void refuse_all() = 0;
  // The request continues (its secret is looked up again), or is refused with these words.
  virtual void settle(uint64_t number, bool go_on, std::string_view words) = 0;
  // While held, no request is sent, tunnels carry nothing and no timeout of the sandbox runs. Requests that were sent
  // before are answered.
  virtual void hold(bool held) = 0;
  // How many requests of this run with a method other than GET, HEAD and OPTIONS, or through a tunnel that is not
  // decrypted, were sent: their effects would be repeated if a command ran again.
  virtual int64_t sent_for_good() const = 0;
};

// The only host that a sandbox without an agent may reach: the server of the repository that is fetched there.
struct SingleHost {
  std::string name;  // in lower case, or an address without brackets
  int port = 0;
  bool public_only = true;      // false: any address is allowed, also of this machine
  bool asks_by_socks = true;    // false: each connection leads to the host from its first byte
  int64_t lifetime_ms_max = 0;  // of a connection
  std::string tenant;           // as in RunAccess
};

// Destroying it closes all of its connections.
class SingleHostProxy {
 public:
  virtual ~SingleHostProxy() = default;
  // Why the last connection failed (`denied`: the address is not allowed); empty: it was made.
  virtual const std::optional<Error>& fault() const = 0;
};

struct EgressOptions {
  std::string ca_dir;                                 // ca.pem and ca.key, created if missing
  std::string upstream_ca_file;                       // PEM; empty: the system's
  std::string own_certificate_file;                   // PEM: our own server's, valid under any name; empty: none
  std::map<std::string, std::string> host_addresses;  // names that are not looked up in DNS
  std::vector<std::string> private_addresses;         // CIDR ranges that sandboxes may reach although they are private
  bool plaintext_secrets = false;                     // secrets may go into http:// requests
  int64_t connect_ms_max = 10'000;
  int64_t idle_ms_max = 300'000;
  int64_t head_ms_max = 30'000;  // from the first byte of a request's head to its last
  int64_t question_ms_max = 0;   // 0: until the run ends
  int connections_per_box_max = 256;
  int64_t single_records_max = 1'000;  // of a run; later requests are summed up by host
  int64_t sum_ms = 60'000;             // between two reports of sums
  int64_t refusals_at_once = 1'000;    // refused or failed requests of a run before its requests are delayed
  int64_t refusals_per_second = 50;    // the rate to which they are then limited
};

class Egress {
 public:
  virtual ~Egress() = default;
  // `listener_fd` listens on the sandbox's 127.0.0.1:proxy_port.
  [[nodiscard]] virtual std::unique_ptr<SandboxProxy> open(OwnedFd listener_fd) = 0;
  // A proxy for a sandbox that may reach one host only.
  [[nodiscard]] virtual std::unique_ptr<SingleHostProxy> open_single_host(OwnedFd listener_fd, SingleHost to) = 0;
  // PEM: the system's authorities and our own. Mounted in sandboxes as /etc/ssl/certs/ca-certificates.crt.
  virtual const std::string& ca_bundle_file() const = 0;
};

// Fails with `invalid` or `unavailable` and a reason. `workers` resolve names.
Result<std::unique_ptr<Egress>> make_egress(EgressOptions options, world::Reactor& reactor, world::Workers& workers,
                                            world::Entropy& entropy, world::Log& log, world::Metrics& metrics);

// The environment variables by which commands in a sandbox find the proxy and trust its certificates.
std::map<std::string, std::string> proxy_environment();

model::events::Egress event_of(const RequestRecord& record);

}  // namespace sluice::egress
