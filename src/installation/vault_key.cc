#include "installation/vault_key.h"

#include <filesystem>

namespace sluice::installation {
namespace {

Error unusable(std::string_view where, std::string what) {
  return {ErrorKind::invalid, std::string(where) + ": " + std::move(what)};
}

Result<std::vector<vault::MasterKey>> parse(std::string_view text, const std::string& where) {
  auto keys = vault::parse_key_file(text);
  if (!keys) return std::move(keys.error()).in(where);
  return keys;
}

}  // namespace

Result<std::unique_ptr<vault::Sealer>> open_sealer(const Config& config, const SealerNeeds& needs) {
  const auto seal_with = [&](Result<std::vector<vault::MasterKey>> keys) -> Result<std::unique_ptr<vault::Sealer>> {
    if (!keys) return std::move(keys.error());
    auto sealer = std::make_unique<vault::Sealer>(std::move(keys).take(), needs.entropy);
    if (auto fine = check_seals(needs.store, needs.reactor, *sealer); !fine) return std::move(fine.error());
    return sealer;
  };
  if (const auto& given = config.text("vault.key"); !given.empty()) return seal_with(parse(given, "vault.key"));

  const auto& configured = config.text("vault.key_file");
  const auto path = configured.empty() ? needs.data.file("vault.key") : configured;
  auto text = read_small_file(path);
  if (!text) return std::move(text.error());
  if (text.value()) return seal_with(parse(*text.value(), path));
  // A configured file must exist: secrets must not be sealed under a key that the operator does not know of.
  if (!configured.empty()) return unusable("vault.key_file", "there is no file " + configured);
  const auto line = vault::fresh_key_line(needs.entropy);
  auto sealer = seal_with(parse(line, path));
  if (!sealer) return sealer;
  // The key is written before it seals a secret, but only once the store is known to need no other key: otherwise a
  // refused start would leave a wrong key at the path of the lost one.
  if (auto kept = write_private_file(path, line); !kept) return std::move(kept.error());
  return sealer;
}

Result<Unit> check_seals(store::Store& store, world::Reactor& reactor, const vault::Sealer& sealer) {
  constexpr int looked_at_max = 100;  // the newest key sealed all secrets, or is about to
  std::optional<Result<store::SealedPage>> page;
  store::sealed_page(store.database(), 0, looked_at_max, [&](Result<store::SealedPage> read) {
    page.emplace(std::move(read));
    reactor.stop();
  });
  while (!page) reactor.run();
  if (!*page) return std::move(page->error()).in("read the sealed secrets");
  const auto check = [&](model::TenantId tenant, const std::string& context, const std::string& sealed) {
    const auto opened = sealer.open(tenant, context, sealed);
    const bool is_strange = !opened && opened.error().kind == ErrorKind::not_found;
    return is_strange ? Result<Unit>(unusable("the vault's key", opened.error().what +
                                                                     "; secrets in the store are sealed under it. Give "
                                                                     "the server that key (vault.key_file)"))
                      : Result<Unit>(Unit{});
  };
  for (const auto& secret : page->value().secrets) {
    if (auto fine = check(secret.tenant_id, vault::context_of(secret), secret.sealed); !fine) return fine;
  }
  for (const auto& key : page->value().keys) {
    if (auto fine = check(key.tenant_id, vault::context_of(key.id), key.material); !fine) return fine;
  }
  return Unit{};
}

Result<std::string> add_vault_key(const Config& config, world::Entropy& entropy) {
  if (!config.text("vault.key").empty()) {
    return unusable("vault.key", "the key is given directly; put the next one on a line before it yourself");
  }
  const auto& configured = config.text("vault.key_file");
  const auto path = configured.empty() ? config.text("server.data") + "/vault.key" : configured;
  auto text = read_small_file(path);
  if (!text) return std::move(text.error());
  if (!text.value()) return Error{ErrorKind::not_found, "there is no key file " + path + ": start the server once"};
  if (auto keys = parse(*text.value(), path); !keys) return std::move(keys.error());
  if (auto kept = write_private_file(path, vault::fresh_key_line(entropy) + *text.value()); !kept) {
    return std::move(kept.error());
  }
  return path;
}

}  // namespace sluice::installation
