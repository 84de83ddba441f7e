#include "sessions/repository_fetch.h"

#include <fcntl.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/addresses.h"
#include "base/fd.h"
#include "net/net.h"

namespace sluice::sessions {
namespace {

constexpr std::size_t git_words_chars_max = 2'000;
// What git says of a server that has nothing but files to give.
constexpr std::string_view no_shallow_words = "does not support shallow capabilities";

struct Place {
  std::string_view scheme;
  std::string_view authority;
};

std::optional<Place> place_of(std::string_view url) {
  for (const std::string_view scheme : {"https", "http", "ssh", "git"}) {
    if (!url.starts_with(scheme) || !url.substr(scheme.size()).starts_with("://")) continue;
    url.remove_prefix(scheme.size() + 3);
    const auto authority = url.substr(0, std::min(url.find('/'), url.size()));
    if (authority.empty()) return std::nullopt;
    return Place{scheme, authority};
  }
  return std::nullopt;
}

// With any port, but nothing else: "host:1@thief" is the thief's.
bool is_host(std::string_view authority, std::string_view host) {
  if (!authority.starts_with(host)) return false;
  authority.remove_prefix(host.size());
  return authority.empty() ||
         (authority[0] == ':' && authority.find_first_not_of("0123456789", 1) == std::string_view::npos);
}

// The one host and port that the clone of a repository may reach.
struct RepositoryHost {
  std::string name;  // in lower case without a dot at its end, or an address without brackets
  int port = 0;
  bool public_only = true;  // only the rule "*" allows it; a host that a rule names may be anywhere
};

constexpr int port_max = 65'535;

bool is_host_name(std::string_view host) {
  return !host.empty() && host[0] != '-' && std::ranges::all_of(host, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
  });
}

int default_port_of(std::string_view scheme) { return scheme == "https" ? 443 : scheme == "http" ? 80 : 22; }

std::string normal_host(std::string_view host) {
  std::string name(host);
  std::ranges::transform(name, name.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
  if (name.ends_with('.')) name.pop_back();
  // git asks for an address as it is written here, however the URL spells it.
  const auto address = parse_address(name);
  return address ? address->text() : name;
}

// `url` has a scheme of git's. `denied`, in words, when git and the server could read its host in two ways.
Result<RepositoryHost> repository_host(std::string_view url, const std::vector<std::string>& rules) {
  const auto colon = std::min(url.find("://"), url.size());
  auto authority = url.substr(std::min(colon + 3, url.size()));
  authority = authority.substr(0, authority.find('/'));
  authority.remove_prefix(authority.rfind('@') + 1);
  const auto bracket = authority.starts_with('[') ? authority.find(']') : std::string_view::npos;
  const auto end = bracket == std::string_view::npos ? std::min(authority.find(':'), authority.size()) : bracket + 1;
  RepositoryHost host{.name = normal_host(bracket == std::string_view::npos ? authority.substr(0, end)
                                                                            : authority.substr(1, bracket - 1)),
                      .port = default_port_of(url.substr(0, colon)),
                      .public_only = net::reach_of(url, rules) != net::Reach::anywhere};
  if (!parse_address(host.name) && !is_host_name(host.name)) {
    return Error{ErrorKind::denied, std::string(authority) + " is not a plain host name"};
  }
  if (const auto port = authority.substr(end); port.size() > 1) {
    const auto* const last = port.data() + port.size();
    const auto read = std::from_chars(port.data() + 1, last, host.port);
    const bool is_port = port[0] == ':' && read.ec == std::errc() && read.ptr == last;
    if (!is_port || host.port < 1 || host.port > port_max) {
      return Error{ErrorKind::denied, std::string(authority) + " has no valid port"};
    }
  }
  return host;
}

std::string secret_of(const GitCredential& credential) {
  return runs::basic_credentials(credential.username, credential.password);
}

bool is_commit(std::string_view ref) {
  return (ref.size() == 40 || ref.size() == 64) && ref.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::map<std::string, std::string> git_environment() {
  return {
      {"GIT_TERMINAL_PROMPT", "0"},       {"GIT_ALLOW_PROTOCOL", "https:http:ssh:git"}, {"GIT_CONFIG_NOSYSTEM", "1"},
      {"GIT_CONFIG_GLOBAL", "/dev/null"}, {"GIT_SSH_COMMAND", "ssh -oBatchMode=yes"},   {"LC_ALL", "C"}};
}

// "user:password", or a token alone, for which forges take any user.
GitCredential credential_of(const vault::Secret& secret) {
  const auto colon = secret.value.find(':');
  if (colon == std::string::npos) return {.username = "x-access-token", .password = secret.value};
  return {.username = secret.value.substr(0, colon), .password = secret.value.substr(colon + 1)};
}

std::optional<GitCredential> find_credential(const std::string& alias, const SessionOptions& options,
                                             const vault::Secrets* secrets) {
  if (const auto* const secret = secrets == nullptr ? nullptr : secrets->find(alias)) return credential_of(*secret);
  const auto found = options.git_credentials.find(alias);
  if (found == options.git_credentials.end()) return std::nullopt;
  return found->second;
}

void add_setting(std::map<std::string, std::string>& environment, const std::string& key, const std::string& value) {
  auto& count = environment["GIT_CONFIG_COUNT"];
  if (count.empty()) count = "0";
  environment["GIT_CONFIG_KEY_" + count] = key;
  environment["GIT_CONFIG_VALUE_" + count] = value;
  count = std::to_string(std::stoi(count) + 1);
}

Result<Unit> add_credential(std::map<std::string, std::string>& environment, const std::string& alias,
                            const Place& place, const SessionOptions& options, const vault::Secrets* secrets) {
  const auto found = find_credential(alias, options, secrets);
  if (!found) return Error{ErrorKind::denied, "there is no credential \"" + alias + "\" on this server"};
  const auto* const secret = secrets == nullptr ? nullptr : secrets->find(alias);
  if (secret != nullptr && !runs::may_be_sent(*secret, runs::host_of(place.authority))) {
    return Error{ErrorKind::denied, "the secret \"" + alias + "\" is bound to other hosts"};
  }
  if (secret == nullptr && !is_host(place.authority, found->host)) {
    return Error{ErrorKind::denied, "the credential \"" + alias + "\" is for " + found->host + " only"};
  }
  const bool is_local = is_host(place.authority, "localhost") || is_host(place.authority, "127.0.0.1");
  if (place.scheme != "https" && !(place.scheme == "http" && is_local)) {
    return Error{ErrorKind::denied, "the credential \"" + alias + "\" is sent over https only"};
  }
  add_setting(environment, "http." + std::string(place.scheme) + "://" + std::string(place.authority) + "/.extraHeader",
              "Authorization: Basic " + secret_of(*found));
  return Unit{};
}

// Where the server answers in git's sandbox.
std::string proxy_address() { return "127.0.0.1:" + std::to_string(sandbox::egress_port); }

// Names are looked up by the server, for git has no network of its own.
Result<Unit> lead_through_proxy(const Place& place, const RepositoryHost& host,
                                std::map<std::string, std::string>& environment) {
  if (place.scheme == "git") {
    return Error{ErrorKind::denied,
                 "repositories.allowed_urls allows it by * only, which is not for git://: use https://"};
  }
  if (place.scheme == "ssh") {
    environment["GIT_SSH_COMMAND"] +=
        " -oHostName=127.0.0.1 -oPort=" + std::to_string(sandbox::egress_port) + " -oHostKeyAlias=" + host.name;
  } else {
    add_setting(environment, "http.proxy", "socks5h://" + proxy_address());
  }
  return Unit{};
}

// Whatever the repository says, git runs nothing of it and goes nowhere else: a redirect could lead
// past the rules, and would be sent the header too.
std::vector<std::string> git(std::vector<std::string> rest) {
  std::vector<std::string> argv = {"git",
                                   "-c",
                                   "protocol.ext.allow=never",
                                   "-c",
                                   "http.followRedirects=false",
                                   "-c",
                                   "core.hooksPath=/dev/null",
                                   "-c",
                                   "advice.detachedHead=false"};
  argv.insert(argv.end(), rest.begin(), rest.end());
  return argv;
}

}  // namespace

Result<std::vector<sandbox::Command>> clone_commands(const dispatch::RepositoryUse& repository,
                                                     const SessionOptions& options, const vault::Secrets* secrets) {
  const auto place = place_of(repository.url);
  if (!place) {
    return Error{ErrorKind::invalid, "its url must begin with https://, http://, ssh:// or git://"};
  }
  if (place->scheme != "ssh" && place->authority.find('@') != std::string_view::npos) {
    return Error{ErrorKind::invalid, "its url must not name a user; that is what credential_alias is for"};
  }
  if (!net::is_allowed(repository.url, options.repository_urls)) {
    return Error{ErrorKind::denied,
                 "this server's configuration does not allow " + repository.url + " (repositories.allowed_urls)"};
  }
  auto environment = git_environment();
  if (repository.credential_alias) {
    auto added = add_credential(environment, *repository.credential_alias, *place, options, secrets);
    if (!added) return std::move(added.error());
  }
  const auto host = repository_host(repository.url, options.repository_urls);
  if (!host) return host.error();
  if (auto led = lead_through_proxy(*place, host.value(), environment); !led) return std::move(led.error());
  std::vector<std::vector<std::string>> lines;
  const auto depth = "--depth=" + std::to_string(repository.depth);
  if (is_commit(repository.ref)) {
    lines.push_back(git({"init", "--quiet", "."}));
    lines.push_back(git({"remote", "add", "--", "origin", repository.url}));
    lines.push_back(git({"fetch", "--quiet", "--no-recurse-submodules", "origin", repository.ref}));
    if (repository.depth > 0) lines.back().insert(lines.back().end() - 2, depth);
    lines.push_back(git({"checkout", "--quiet", "--detach", "FETCH_HEAD"}));
  } else {
    lines.push_back(git({"clone", "--quiet", "--no-recurse-submodules"}));
    if (repository.depth > 0) lines.back().push_back(depth);
    if (!repository.ref.empty()) lines.back().push_back("--branch=" + repository.ref);
    lines.back().insert(lines.back().end(), {"--", repository.url, "."});
  }
  std::vector<sandbox::Command> commands;
  for (auto& line : lines) {
    commands.push_back({.argv = std::move(line), .environment = environment, .timeout_ms = options.clone_timeout_ms});
  }
  return commands;
}

RepositoryFetch::RepositoryFetch(SessionCore& core)
    : core_(core), options_(core.host.options), loop_(core.host.loop), box_(loop_) {}

Task<Result<workspace::Layers>> RepositoryFetch::fetch() {
  auto to_run = commands(false);
  if (!to_run) co_return std::move(to_run.error());
  if (auto opened = co_await open_sandbox(); !opened) co_return std::move(opened.error());
  if (auto run = co_await run_commands(std::move(to_run).take()); !run) co_return std::move(run.error());
  proxy_.reset();
  // Frozen only when it is proven that no process of the clone can write there any more.
  auto proof = co_await answer<Result<Unit>>([this](auto done) { box_.kill(std::move(done)); });
  if (!proof) co_return std::move(proof.error()).in("end its sandbox");
  co_return co_await freeze();
}

Result<std::vector<sandbox::Command>> RepositoryFetch::commands(bool whole_history) const {
  auto wanted = repository();
  if (whole_history) wanted.depth = 0;
  return clone_commands(wanted, options_, secrets());
}

Task<Result<Unit>> RepositoryFetch::open_sandbox() {
  auto opened = co_await answer<Result<Unit>>([this](auto done) {
    box_.open(*core_.host.sandbox, {.name = core_.dispatch.run.text() + "-repository"}, std::move(done));
  });
  if (!opened) co_return std::move(opened.error()).in("open a sandbox for it");
  auto listener = core_.host.egress != nullptr ? box_.box()->take_egress_listener() : OwnedFd();
  if (!listener) co_return Unit{};
  auto host = repository_host(repository().url, options_.repository_urls);
  SLUICE_CHECK(host);  // clone_commands() has read it
  proxy_ = core_.host.egress->open_single_host(std::move(listener),
                                               {.name = std::move(host.value().name),
                                                .port = host.value().port,
                                                .public_only = host.value().public_only,
                                                .asks_by_socks = !repository().url.starts_with("ssh://"),
                                                .lifetime_ms_max = options_.clone_timeout_ms,
                                                .tenant = tenant_of(core_.dispatch)});
  co_return Unit{};
}

Task<Result<Unit>> RepositoryFetch::run_commands(std::vector<sandbox::Command> commands) {
  bool may_be_shallow = repository().depth > 0;
  for (std::size_t at = 0; at < commands.size();) {
    auto end = co_await command_end(*box_.box(), std::move(commands[at]), {.kept_chars_max = git_words_chars_max},
                                    core_.dispatch.secrets, loop_);
    if (end.is_well()) {
      ++at;
      continue;
    }
    if (end.printed.find(no_shallow_words) != std::string::npos && std::exchange(may_be_shallow, false)) {
      // The last command once more, and those that follow it, for the whole history.
      auto for_all = this->commands(true);
      if (!for_all) co_return std::move(for_all.error());
      commands = std::move(for_all).take();
      const auto remark =
          "The server of " + repository().url + " cannot give a part of the history: fetching all of it.";
      co_await core_.report(runs::log_line("info", runs::to_utf8(remark)));
      continue;
    }
    // git knows only that no host was reached.
    if (proxy_ && proxy_->fault()) co_return fault_of_proxy();
    const auto words = outcome_words(end.exit, std::move(end.printed), options_.clone_timeout_ms);
    co_return Error{ErrorKind::unavailable, shown("git: " + words)};
  }
  co_return Unit{};
}

Error RepositoryFetch::fault_of_proxy() const {
  auto fault = *proxy_->fault();
  const auto host = repository_host(repository().url, options_.repository_urls);
  if (fault.kind == ErrorKind::denied && host && host.value().public_only) {
    fault.what +=
        ". The rule * of repositories.allowed_urls allows public addresses only; the server's operator can name this "
        "host there";
  }
  return fault;
}

std::string RepositoryFetch::shown(std::string words) const {
  const auto& alias = repository().credential_alias;
  if (!alias) return words;
  const auto credential = find_credential(*alias, options_, secrets());
  if (!credential) return words;
  for (const auto& secret : {credential->password, secret_of(*credential)}) {
    if (secret.empty()) continue;
    for (auto at = words.find(secret); at != words.npos; at = words.find(secret, at)) {
      words.replace(at, secret.size(), "…");
    }
  }
  return words;
}

Task<Result<workspace::Layers>> RepositoryFetch::freeze() {
  LayerWork work{.changes_fd = -1,
                 .home = core_.home,
                 .mark = core_.dispatch.run.text() + "-repository",
                 .owner = {options_.owner_uid, options_.owner_uid}};
  auto draft = co_await file_job<LayerDraft>(
      {loop_, *core_.workers, options_.keep_ms_max}, "copying what was cloned",
      [work = std::move(work), changes = OwnedFd(fcntl(box_.box()->changes_fd(), F_DUPFD_CLOEXEC, 0))](
          std::stop_token stop) mutable -> Result<LayerDraft> {
        work.changes_fd = changes.get();
        work.stop = std::move(stop);
        return draft_layer(work);
      },
      [](Result<LayerDraft> draft) { discard(draft); });
  if (!draft) co_return std::move(draft.error()).in("keep it");
  if (draft.value().from.empty()) co_return workspace::Layers{};
  if (auto kept = keep(draft.value()); !kept) co_return std::move(kept.error()).in("keep it");
  co_return workspace::Layers{draft.value().to};
}

void RepositoryFetch::stop(Callback<void()> gone) {
  proxy_.reset();
  box_.kill([gone = std::move(gone)](const Result<Unit>&) mutable { gone(); });
}

}  // namespace sluice::sessions
