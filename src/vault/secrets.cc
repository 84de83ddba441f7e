// The secrets in reach of one run, and what may be one.
#include "vault/secrets.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <iterator>

#include "base/bytes.h"

namespace sluice::vault {

Result<Unit> check_value(std::string_view value, std::size_t bytes_min) {
  const auto invalid = [](std::string what) { return Error{ErrorKind::invalid, std::move(what)}; };
  if (value.empty()) return invalid("a secret's value is empty");
  if (value.size() < bytes_min) {
    return invalid("a secret's value has at least " + std::to_string(bytes_min) +
                   " bytes; a shorter one could be guessed from what is scrubbed");
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

namespace {

void wipe(std::vector<Secret>& secrets) {
  for (auto& secret : secrets) OPENSSL_cleanse(secret.value.data(), secret.value.size());
}

const Secret* find_in(const std::vector<Secret>& secrets, std::string_view alias) {
  const auto found = std::ranges::find(secrets, alias, &Secret::alias);
  return found == secrets.end() ? nullptr : &*found;
}

// What is looked for when `more` comes to `before`: each value once, under the alias it has now.
std::vector<Secret> with_those_before(std::vector<Secret> more, const std::vector<Secret>& before) {
  for (const auto& secret : before) {
    if (std::ranges::find(more, secret.value, &Secret::value) == more.end()) more.push_back(secret);
  }
  return more;
}

}  // namespace

Secrets::Secrets(std::function<bool(const Secret&)> is_looked_for) : state_(std::make_unique<State>()) {
  state_->is_looked_for = std::move(is_looked_for);
}
Secrets::~Secrets() = default;

Secrets::State::~State() {
  for (auto* const list : {&now, &pinned, &ever, &ever_pinned}) wipe(*list);
}

std::vector<Secret> Secrets::State::looked_for_with(const std::vector<Secret>& next) const {
  std::vector<Secret> more;
  std::ranges::copy_if(next, std::back_inserter(more),
                       [&](const Secret& secret) { return !is_looked_for || is_looked_for(secret); });
  return with_those_before(std::move(more), ever);
}

void Secrets::State::use(std::vector<Secret> next, std::vector<Secret> looked_for,
                         std::shared_ptr<const Scrubber> its_scrubber) {
  wipe(ever);
  ever = std::move(looked_for);
  ++version;
  of_ever = std::move(its_scrubber);
  put_together();
  wipe(now);
  now.clear();
  for (auto& secret : next) {
    if (!find_in(now, secret.alias)) now.push_back(std::move(secret));
  }
}

void Secrets::State::put_together() {
  if (!of_pinned) {
    scrubber = of_ever;
    return;
  }
  auto automata = of_ever->automata_;
  automata.insert(automata.end(), of_pinned->automata_.begin(), of_pinned->automata_.end());
  scrubber = std::shared_ptr<const Scrubber>(new Scrubber(std::move(automata)));
}

void Secrets::replace(std::vector<Secret> secrets) {
  auto looked_for = state_->looked_for_with(secrets);
  auto scrubber = std::make_shared<const Scrubber>(looked_for);
  state_->use(std::move(secrets), std::move(looked_for), std::move(scrubber));
}

// With an automaton of its own: a run's own token must not make the large set another one than that of the run before.
void Secrets::pin(Secret secret) {
  state_->ever_pinned = with_those_before({secret}, state_->ever_pinned);
  state_->of_pinned = std::make_shared<const Scrubber>(state_->ever_pinned);
  state_->put_together();
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
      opened.push_back({secret.alias, std::move(value).take(), secret.hosts, secret.places, secret.scope});
    } else {
      unreadable.push_back(secret.alias + ": " + value.error().what);
    }
  }
  return opened;
}

}  // namespace sluice::vault
