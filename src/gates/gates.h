// Who may do what, and how a human's decision is proven. Pure: no clock, no store, no network.
//
// A policy is a list of rules; the strictest rule that matches decides: deny over ask over allow.
// Where no rule matches, tools, commands and files are allowed, because the sandbox bounds them; a
// host is denied, because nothing else does.
// Not its business: who raises a gate (runner, egress), what a decision sets in motion (engine).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/model.h"

namespace sluice::gates {

// ── policy ──
struct Ruling {
  model::Effect effect = model::Effect::allow;
  std::string reason;   // of the rule; may be empty
  std::string pattern;  // of the rule; empty: no rule matched
};

Ruling rule_on_tool(const model::Policy& policy, std::string_view tool);
// `command` is a line of shell. It is judged as a whole and by each of its parts (`a && b; c | d`, `$(…)`), with
// leading variable assignments left out, so that a denied command is not let through behind an allowed one. What
// cannot be taken apart without doubt is judged as `ask` wherever any rule on commands asks or denies. `/usr/bin/git
// push` and `git -C dir push` are `git push`; "git push *" matches all three. What a script or a program does by itself
// is not seen here: the sandbox bounds it. A ruling costs a bounded number of steps (gates/steps.h); past them it is
// `ask` as well, so that no command can hold up the event loop.
Ruling rule_on_command(const model::Policy& policy, std::string_view command);
// `path` inside the sandbox, made absolute and free of dot segments by this.
Ruling rule_on_file(const model::Policy& policy, std::string_view path);
Ruling rule_on_host(const model::Policy& policy, std::string_view host);

// May this port of a host that the policy does not deny be reached by plain requests, or through a tunnel whose content
// is not seen? Behind other ports than those of the web are services of another kind, so a rule must name them.
bool may_reach_port(const model::Policy& policy, std::string_view host, int port);
// A host's name against a pattern: "api.example.com", "*.example.com" (not example.com itself), "*".
bool host_matches(std::string_view pattern, std::string_view host);
// Lower case, no trailing dot; empty when it is no name and no address.
std::optional<std::string> normal_host(std::string_view host);
// May a secret of this alias, bound to `hosts`, be sent to `host`? An unbound one only where a rule that allows the
// host names it.
bool secret_may_go(const model::Policy& policy, std::string_view alias, const std::vector<std::string>& hosts,
                   std::string_view host);
// Is there any host to which it may go? True in doubt.
bool secret_may_be_used(const model::Policy& policy, std::string_view alias, const std::vector<std::string>& hosts);
// Must a connection to `host` be looked into, because some secret could be sent there?
bool host_takes_secrets(const model::Policy& policy, std::string_view host);

// `invalid`, in words, for a pattern that cannot be one.
Result<Unit> check_rule(const model::PolicyRule& rule);

// ── signed decisions (I-15) ──
struct Signature {
  std::string key_id;
  std::string algorithm;
  int64_t exp = 0;                          // seconds since 1970
  std::string value;                        // base64url, no padding
  std::optional<std::string> items_digest;  // the same encoding
  std::optional<std::string> secrets_digest;
  std::string fault;  // why it could not be read; it counts for nothing then
};

// What is signed: canonical JSON, members sorted, no white space:
// {"approval_id":"…","decision":"approve"|"deny","exp":N} and, when they are given, "items_digest" and
// "secrets_digest".
std::string payload_of(model::ApprovalId approval, bool approve, const Signature& signature);
// sha256, base64url, of the canonical JSON of requested_items, and of the secrets supplied (aliases sorted, {} when
// there are none).
std::string items_digest(const std::vector<model::RequestedItem>& items);
std::string secrets_digest(const std::map<std::string, std::string>& secrets);

struct DecisionRules {
  int64_t horizon_seconds = 900;  // how far ahead exp may be
  bool require_digests = false;
};

struct DecisionClaim {
  const model::Approval& approval;
  bool approve = false;
  const Signature& signature;
  const std::map<std::string, std::string>& secrets;
};

// Whether `key` (its material in the clear: the HMAC secret or the raw Ed25519 public key) signed exactly this.
// `denied`, with what is wrong, but never how near it came. Takes as long for a near miss as for a far one.
Result<Unit> check_decision(const DecisionClaim& claim, const model::ApproverKey& key, const DecisionRules& rules,
                            Timestamp now);

// The other side, for our own command line: `material` is the HMAC secret, or the raw 32-byte Ed25519 private key.
Result<std::string> sign(std::string_view payload, model::SignatureAlgorithm algorithm, std::string_view material);

// ── audit ──
// The first entry that does not fit: its own hash, or its link to the one before. Empty: the chain holds.
// `previous_sha256` is the hash before the first entry; empty for entry 1.
std::optional<int64_t> first_broken_link(const std::vector<model::AuditEntry>& entries,
                                         std::string_view previous_sha256);

}  // namespace sluice::gates
