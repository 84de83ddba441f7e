// Secrets: sealed on disk, opened only in memory, and found wherever they must not be.
//
// Here are the key that seals, the set of secrets that one run may use, and the scrubber that takes
// their values out of everything that is about to be sent. Values leave this module only towards the egress
// proxy and the model's own endpoint.
// Not its business: rows (store), who may supply a secret (api), where one may be sent (egress, gates).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/callback.h"
#include "base/result.h"
#include "model/model.h"
#include "world/shared_workers.h"
#include "world/world.h"

namespace sluice::vault {

inline constexpr std::size_t value_bytes_min = 4;  // shorter ones cannot be scrubbed without hiding common words
// A scrubbed value can be guessed by a caller who sees the result of each guess, so that a new value is not a number
// that is found by trying. Shorter ones that are on file go on being used and scrubbed.
inline constexpr std::size_t supplied_bytes_min = 8;
inline constexpr std::size_t value_bytes_max = 64 * 1024;
inline constexpr std::size_t secrets_per_request_max = 50;

// `invalid`, in words and without quoting it: empty, too short, too long, NUL, not UTF-8.
Result<Unit> check_value(std::string_view value, std::size_t bytes_min = supplied_bytes_min);

// ── sealing: AES-256-GCM under a key that is derived, for each tenant, from the operator's ──
// The operator's keys, the current one first; older ones only open.
struct MasterKey {
  std::string id;     // 8 hexadecimal digits, of its digest
  std::string bytes;  // 32
};
// A key file: one key a line, base64url of 32 bytes, the current one first; '#' begins a comment.
Result<std::vector<MasterKey>> parse_key_file(std::string_view text);
std::string fresh_key_line(world::Entropy& entropy);

class Sealer {
 public:
  // At least one key. `entropy` must outlive this.
  Sealer(std::vector<MasterKey> keys, world::Entropy& entropy);
  ~Sealer();
  Sealer(const Sealer&) = delete;
  Sealer& operator=(const Sealer&) = delete;

  // `context` is bound to the seal: what was sealed in one opens in no other.
  std::string seal(model::TenantId tenant, std::string_view context, std::string_view value);
  // `corrupt` when it was tampered with or its context is another; `not_found` when its key is not here.
  Result<std::string> open(model::TenantId tenant, std::string_view context, std::string_view sealed) const;
  // Sealed under the current key?
  bool is_current(std::string_view sealed) const;

 private:
  struct Keys;
  std::unique_ptr<Keys> keys_;
  world::Entropy& entropy_;
};

// The context of a secret, and of an approver key's HMAC secret.
std::string context_of(const model::SealedSecret& secret);
std::string context_of(model::ApproverKeyId key);

// ── what one run may use ──
struct Secret {
  std::string alias;
  std::string value;
  std::vector<std::string> hosts;  // empty: where the agent's policy lets it go
  uint8_t places = model::places_all;
  model::SecretScope scope = model::SecretScope::conversation;
};

class Scrubber;

// The secrets in reach of one run: its conversation's, its agent's, its tenant's, in that order of
// precedence. Shared by the run, its egress and its scrubbing; values that are replaced or taken away
// are still scrubbed for as long as this lives.
class Secrets {
 public:
  // `is_looked_for`: whether the value of a secret could be in what the run is shown. Empty: of every one.
  explicit Secrets(std::function<bool(const Secret&)> is_looked_for = nullptr);
  ~Secrets();
  Secrets(const Secrets&) = delete;
  Secrets& operator=(const Secrets&) = delete;

  // Instead of all there were, in order of precedence: the first of an alias counts. Builds a scrubber at once, which
  // may take seconds: what is on a loop uses Scrubbers.
  void replace(std::vector<Secret> secrets);
  // One that is not among those: it stays when they are replaced, is not listed, and counts only where none of them has
  // its alias. Instead of an earlier one of the same alias.
  void pin(Secret secret);
  const Secret* find(std::string_view alias) const;
  std::vector<std::string> aliases() const;
  // Changes with every replace() and pin(). Never null.
  std::shared_ptr<const Scrubber> scrubber() const;

 private:
  friend class Scrubbers;
  struct State;
  std::unique_ptr<State> state_;
};

// Scrubbers by the set that they look for: built on a worker's thread, in the tenant's turn and one at a time of a
// tenant, and kept for a while, so that the next run with the same secrets waits for none.
class Scrubbers {
 public:
  // Of a tenant's scrubbers that runs hold. Once they have as many, no more are built for it before some are given
  // back.
  static constexpr std::size_t held_bytes_max = std::size_t{256} << 20;

  // `workers` null: they are built at once.
  Scrubbers(world::Loop& loop, world::SharedWorkers* workers, std::size_t held_bytes = held_bytes_max);
  ~Scrubbers();
  Scrubbers(const Scrubbers&) = delete;
  Scrubbers& operator=(const Scrubbers&) = delete;

  // For whom it is.
  struct Asker {
    model::TenantId tenant;
    // False: no caller waits for it any more, so that it is not built. Null: it is always wanted.
    std::function<bool()> is_wanted;
    // A run that stands still holds what it has. It waits only for a while, or two of them could wait for each other.
    bool stands_still = false;
  };
  // As Secrets::replace(), and then calls back, perhaps at once. Until then the secrets are as they were. Of several
  // that are under way for the same secrets the one that was asked for last counts. Dropping this drops what is under
  // way.
  void replace(Asker asker, std::shared_ptr<Secrets> secrets, std::vector<Secret> by, Callback<void()> then);
  int64_t built() const;  // how many there were to build

 private:
  struct State;
  struct Order;

  void find(const std::vector<Secret>& secrets, const Order& order,
            Callback<void(std::shared_ptr<const Scrubber>)> then);
  void install(Order order, std::shared_ptr<Secrets> secrets, std::vector<Secret> by, Callback<void()> then);

  std::shared_ptr<State> state_;  // shared with what is under way
};

// Opens what can be opened; what cannot is left out and named in `unreadable`.
std::vector<Secret> open_all(const Sealer& sealer, const std::vector<model::SealedSecret>& sealed,
                             std::vector<std::string>& unreadable);

// ── scrubbing ──
// Finds every value: plain, base64 (at each of its three alignments, both alphabets, broken into lines), hexadecimal,
// URL-encoded, escaped for HTML, as a JSON string has it and as a JSON string inside of one has it (each common way of
// these), in Latin-1, and as UTF-8 that was taken for Latin-1. What is found becomes `{{secret:ALIAS}}`, and what is
// such a placeholder stays it.
class Scrubber {
 public:
  explicit Scrubber(const std::vector<Secret>& secrets);
  ~Scrubber();

  bool is_idle() const;  // there is nothing to look for
  std::size_t size_bytes() const;
  std::string scrub(std::string_view text) const;
  bool finds(std::string_view text) const;

 private:
  friend class ScrubStream;
  friend class Secrets;
  friend class Scrubbers;
  struct Automaton;
  using Automata = std::vector<std::shared_ptr<const Automaton>>;
  explicit Scrubber(Automata automata);
  Automata automata_;  // one after another; some are shared with other scrubbers
};

// The same for text that comes in pieces: holds back what may be the beginning of a value.
class ScrubStream {
 public:
  explicit ScrubStream(std::shared_ptr<const Scrubber> scrubber);
  ~ScrubStream();
  ScrubStream(ScrubStream&&) noexcept;
  ScrubStream& operator=(ScrubStream&&) noexcept;

  // Returns the text that can be sent now, which may be empty.
  std::string push(std::string_view piece);
  // The rest: nothing more comes.
  std::string finish();
  bool holds_back() const;
  // How often a byte was compared with what may follow the beginning of a long value.
  int64_t tail_steps() const;

 private:
  class Pass;
  struct State;
  std::unique_ptr<State> state_;
};

// ── what a run's sandbox is to the workspace's API ──
struct BoxOwner {
  model::TenantId tenant;
  model::RunId run;
  model::WorkspaceUse use = model::WorkspaceUse::none;
};
// asbx_RUN.TENANT.USE.PROOF: derived from the server's root, so that it is kept nowhere and good after a restart.
// Whether the run is still under way it does not say.
std::string bearer_of(std::string_view root, const BoxOwner& owner);
// Empty when it is not proven.
std::optional<BoxOwner> owner_of_bearer(std::string_view root, std::string_view bearer);

// "{{secret:ALIAS}}"
std::string placeholder(std::string_view alias);

}  // namespace sluice::vault
