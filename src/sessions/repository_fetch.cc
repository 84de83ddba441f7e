#include "sessions/repository_fetch.h"

#include <fcntl.h>

#include <algorithm>
#include <utility>

#include "base/fd.h"
#include "runs/runs.h"

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
std::string door_address() { return "127.0.0.1:" + std::to_string(sandbox::egress_port); }

// Names are looked up by the server, for git has no network of its own.
Result<Unit> lead_through_door(const Place& place, const RepositoryHost& host,
                               std::map<std::string, std::string>& environment) {
  if (place.scheme == "git") {
    return Error{ErrorKind::denied,
                 "repositories.allowed_urls allows it by * only, which is not for git://: use https://"};
  }
  if (place.scheme == "ssh") {
    environment["GIT_SSH_COMMAND"] +=
        " -oHostName=127.0.0.1 -oPort=" + std::to_string(sandbox::egress_port) + " -oHostKeyAlias=" + host.name;
  } else {
    add_setting(environment, "http.proxy", "socks5h://" + door_address());
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

std::string tenant_of(const dispatch::Dispatch& dispatch) {
  const auto tenant = dispatch.agent.tenant_id;
  return tenant == model::TenantId{} ? std::string() : tenant.text();
}

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
  if (auto led = lead_through_door(*place, host.value(), environment); !led) return std::move(led.error());
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

RepositoryFetch::RepositoryFetch(const SessionOptions& options, const dispatch::Dispatch& dispatch, Needs needs,
                                 Callback<void(std::string)> remark, Callback<void(Result<workspace::Layers>)> done)
    : options_(options),
      dispatch_(dispatch),
      needs_(needs),
      remark_(std::move(remark)),
      done_(std::move(done)),
      file_work_(needs.loop, options.keep_ms_max),
      box_(needs.loop) {
  needs_.loop.defer([this, alive = lifeline_.watch()] {
    if (!alive.expired()) begin();
  });
}

void RepositoryFetch::begin() {
  auto commands = clone_commands(*dispatch_.materials.repository, options_, secrets());
  if (!commands) return finish(std::move(commands.error()));
  commands_ = std::move(commands).take();
  open_box();
}

void RepositoryFetch::open_box() {
  box_.open(needs_.sandbox, {.name = dispatch_.run.text() + "-repository"},
            [this, alive = lifeline_.watch()](Result<Unit> opened) {
              if (alive.expired()) return;
              if (!opened) return finish(std::move(opened.error()).in("open a sandbox for it"));
              open_door();
              run_next();
            });
}

void RepositoryFetch::open_door() {
  const auto& url = dispatch_.materials.repository->url;
  auto listener = needs_.egress != nullptr ? box_.box()->take_egress_listener() : OwnedFd();
  if (!listener) return;
  auto host = repository_host(url, options_.repository_urls);
  SLUICE_CHECK(host);  // clone_commands() has read it
  door_ = needs_.egress->open_single_host(std::move(listener), {.name = std::move(host.value().name),
                                                                .port = host.value().port,
                                                                .public_only = host.value().public_only,
                                                                .asks_by_socks = !url.starts_with("ssh://"),
                                                                .lifetime_ms_max = options_.clone_timeout_ms,
                                                                .tenant = tenant_of(dispatch_)});
}

void RepositoryFetch::run_next() {
  if (next_command_ == commands_.size()) {
    run_.reset();
    door_.reset();
    return box_.kill([this, alive = lifeline_.watch()](Result<Unit> proof) {
      if (alive.expired()) return;
      if (!proof) return finish(std::move(proof.error()).in("end its sandbox"));
      freeze();
    });
  }
  CommandListener& listener = *this;
  run_ = std::make_unique<CommandRun>(*box_.box(), std::move(commands_[next_command_++]),
                                      CommandBounds{.kept_chars_max = git_words_chars_max}, dispatch_.secrets,
                                      needs_.loop, listener);
}

void RepositoryFetch::on_ended(sandbox::Exit exit, std::string printed) {
  if (exit.cause == sandbox::ExitCause::exited && exit.code == 0) return run_next();
  const bool is_too_plain = printed.find(no_shallow_words) != std::string::npos;
  if (is_too_plain && remark_ && dispatch_.materials.repository->depth > 0) return run_without_depth();
  // git knows only that no host was reached.
  if (door_ && door_->fault()) return finish(fault_of_door());
  finish(Error{ErrorKind::unavailable,
               shown("git: " + outcome_words(exit, std::move(printed), options_.clone_timeout_ms))});
}

Error RepositoryFetch::fault_of_door() const {
  auto fault = *door_->fault();
  const auto host = repository_host(dispatch_.materials.repository->url, options_.repository_urls);
  if (fault.kind == ErrorKind::denied && host && host.value().public_only) {
    fault.what +=
        ". The rule * of repositories.allowed_urls allows public addresses only; the server's operator can name this "
        "host there";
  }
  return fault;
}

void RepositoryFetch::run_without_depth() {
  auto repository = *dispatch_.materials.repository;
  repository.depth = 0;
  auto commands = clone_commands(repository, options_, secrets());
  if (!commands) return finish(std::move(commands.error()));
  commands_ = std::move(commands).take();
  --next_command_;
  auto remark = std::exchange(remark_, nullptr);
  const auto alive = lifeline_.watch();
  remark("The server of " + repository.url + " cannot give a part of the history: fetching all of it.");
  if (!alive.expired()) run_next();
}

std::string RepositoryFetch::shown(std::string words) const {
  const auto& alias = dispatch_.materials.repository->credential_alias;
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

void RepositoryFetch::freeze() {
  LayerWork work{.changes_fd = -1,
                 .home = layer_home(options_.state_dir, dispatch_),
                 .mark = dispatch_.run.text() + "-repository",
                 .owner = {options_.owner_uid, options_.owner_uid}};
  file_work_.send<LayerDraft>(
      needs_.workers, "copying what was cloned",
      [work = std::move(work), changes = OwnedFd(fcntl(box_.box()->changes_fd(), F_DUPFD_CLOEXEC, 0))](
          std::stop_token stop) mutable -> Result<LayerDraft> {
        work.changes_fd = changes.get();
        work.stop = std::move(stop);
        return draft_layer(work);
      },
      [this](Result<LayerDraft> draft) { take(std::move(draft)); }, [](Result<LayerDraft> draft) { discard(draft); });
}

void RepositoryFetch::take(Result<LayerDraft> draft) {
  if (!draft) return finish(std::move(draft.error()).in("keep it"));
  if (draft.value().from.empty()) return finish(workspace::Layers{});
  if (auto kept = keep(draft.value()); !kept) return finish(std::move(kept.error()).in("keep it"));
  finish(workspace::Layers{draft.value().to});
}

// The callback may drop this.
void RepositoryFetch::finish(Result<workspace::Layers> layers) {
  auto done = std::move(done_);
  done(std::move(layers));
}

void RepositoryFetch::stop(Callback<void()> gone) {
  run_.reset();
  door_.reset();
  box_.kill([gone = std::move(gone)](const Result<Unit>&) mutable { gone(); });
}

}  // namespace sluice::sessions
