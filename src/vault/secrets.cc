// The secrets in reach of one run, and what may be one.
#include <openssl/crypto.h>

#include <algorithm>

#include "base/bytes.h"
#include "vault/vault.h"

namespace sluice::vault {

Result<Unit> check_value(std::string_view value) {
  const auto invalid = [](std::string what) { return Error{ErrorKind::invalid, std::move(what)}; };
  if (value.empty()) return invalid("a secret's value is empty");
  if (value.size() < value_bytes_min) {
    return invalid("a secret's value has at least " + std::to_string(value_bytes_min) +
                   " bytes; a shorter one could not be kept out of what is told");
  }
  if (value.size() > value_bytes_max) {
    return invalid("a secret's value has at most " + std::to_string(value_bytes_max) + " bytes");
  }
  if (value.find('\0') != std::string_view::npos) return invalid("a secret's value contains a NUL byte");
  if (!is_utf8(value)) return invalid("a secret's value is not UTF-8; encode binary ones as base64");
  if (value.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    return invalid("a secret's value is nothing but white space");
  }
  return Unit{};
}

struct Secrets::State {
  std::vector<Secret> now;
  std::vector<Secret> pinned;
  std::vector<Secret> ever;  // each value once: what is not in `now` may still come back from the network
  std::shared_ptr<const Scrubber> scrubber = std::make_shared<const Scrubber>(std::vector<Secret>());

  State() = default;
  ~State() {
    for (auto* list : {&now, &pinned, &ever}) {
      for (auto& secret : *list) OPENSSL_cleanse(secret.value.data(), secret.value.size());
    }
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void scrub_too(std::vector<Secret> more);
};

Secrets::Secrets() : state_(std::make_unique<State>()) {}
Secrets::~Secrets() = default;

namespace {

void wipe(std::vector<Secret>& secrets) {
  for (auto& secret : secrets) OPENSSL_cleanse(secret.value.data(), secret.value.size());
}

const Secret* find_in(const std::vector<Secret>& secrets, std::string_view alias) {
  const auto found = std::ranges::find(secrets, alias, &Secret::alias);
  return found == secrets.end() ? nullptr : &*found;
}

}  // namespace

void Secrets::State::scrub_too(std::vector<Secret> more) {
  for (auto& before : ever) {
    if (std::ranges::find(more, before.value, &Secret::value) == more.end()) {
      more.push_back(std::move(before));
    } else {
      OPENSSL_cleanse(before.value.data(), before.value.size());
    }
  }
  ever = std::move(more);
  scrubber = std::make_shared<const Scrubber>(ever);
}

void Secrets::replace(std::vector<Secret> secrets) {
  state_->scrub_too(secrets);
  wipe(state_->now);
  state_->now.clear();
  for (auto& secret : secrets) {
    if (!find_in(state_->now, secret.alias)) state_->now.push_back(std::move(secret));
  }
}

void Secrets::pin(Secret secret) {
  state_->scrub_too({secret});
  for (auto& before : state_->pinned) {
    if (before.alias == secret.alias) OPENSSL_cleanse(before.value.data(), before.value.size());
  }
  std::erase_if(state_->pinned, [&](const Secret& before) { return before.alias == secret.alias; });
  state_->pinned.push_back(std::move(secret));
}

const Secret* Secrets::find(std::string_view alias) const {
  const auto* const found = find_in(state_->now, alias);
  return found != nullptr ? found : find_in(state_->pinned, alias);
}

std::vector<std::string> Secrets::aliases() const {
  std::vector<std::string> aliases;
  for (const auto& secret : state_->now) aliases.push_back(secret.alias);
  return aliases;
}

std::shared_ptr<const Scrubber> Secrets::scrubber() const { return state_->scrubber; }

std::vector<Secret> open_all(const Sealer& sealer, const std::vector<model::SealedSecret>& sealed,
                             std::vector<std::string>& unreadable) {
  std::vector<Secret> opened;
  for (const auto& secret : sealed) {
    auto value = sealer.open(secret.tenant_id, context_of(secret), secret.sealed);
    if (value) {
      opened.push_back({secret.alias, std::move(value).take(), secret.hosts, secret.places});
    } else {
      unreadable.push_back(secret.alias + ": " + value.error().what);
    }
  }
  return opened;
}

}  // namespace sluice::vault
