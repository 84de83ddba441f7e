// `sluice doctor`: checks what this machine and this configuration can and cannot do.
#include <fcntl.h>
#include <netdb.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/json.h"
#include "client/client.h"
#include "installation/bootstrap.h"
#include "installation/data_dir.h"
#include "installation/host_users.h"
#include "installation/options.h"
#include "installation/programs.h"
#include "net/net.h"
#include "ops/commands.h"
#include "ops/sandbox_trial.h"
#include "store/store.h"
#include "world/world.h"

namespace sluice::ops {
namespace {

using installation::read_small_file;

enum class Verdict : uint8_t { good, poor, bad };

struct Finding {
  Verdict verdict;
  std::string what;
  std::string detail;  // the finding and, if it is not good, its consequence and the remedy
};

class Examination final {
 public:
  explicit Examination(const Config& config) : config_(config), data_(config.text("server.data")) {}

  std::vector<Finding> examine() {
    check_kernel();
    check_descriptors();
    check_data_directory();
    check_store();
    check_tls();
    check_server();
    check_providers();
    check_sandbox();
    check_open_files();
    check_programs();
    return std::move(findings_);
  }

 private:
  void report(Verdict verdict, std::string what, std::string detail) {
    findings_.push_back({verdict, std::move(what), std::move(detail)});
  }

  void check_kernel();
  void check_descriptors();
  void check_data_directory();
  void check_store();
  void check_shared_store();
  void check_tls();
  void check_port();
  void check_server();
  void check_key(client::Session& session, world::Reactor& reactor);
  void check_providers();
  void check_sandbox();
  void check_users(const sandbox::SandboxOptions& options);
  void check_open_files();
  void check_sandbox_start(const sandbox::SandboxOptions& options);
  void check_programs();

  bool is_server_running() const;
  static Result<client::Reply> get(client::Session& session, world::Reactor& reactor, std::string path);

  const Config& config_;
  const std::string data_;
  std::vector<Finding> findings_;
};

void Examination::check_kernel() {
  utsname name{};
  uname(&name);
  report(Verdict::good, "kernel", std::string(name.sysname) + " " + name.release + " on " + name.machine);
}

void Examination::check_descriptors() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const auto wanted = static_cast<uint64_t>(config_.integer("limits.connections_max"));
  const auto most = installation::connections_max(config_, true);
  const auto detail = std::to_string(limit.rlim_max) + " file descriptors at most";
  if (most >= wanted) return report(Verdict::good, "descriptors", detail);
  report(Verdict::poor, "descriptors",
         detail + ": connections may use half of them, so beyond " + std::to_string(most) +
             " they are refused, though limits.connections_max is " + std::to_string(wanted) +
             ". Raise the hard limit of nofile to " + std::to_string(2 * wanted));
}

void Examination::check_data_directory() {
  struct statvfs space{};
  if (access(data_.c_str(), F_OK) != 0)
    return report(Verdict::good, "data", data_ + " does not exist; the first start creates it");
  if (access(data_.c_str(), W_OK | X_OK) != 0 || statvfs(data_.c_str(), &space) != 0) {
    return report(Verdict::bad, "data",
                  data_ + " is not writable: " + std::strerror(errno) + "; nothing can be stored");
  }
  const uint64_t free_mib = space.f_bavail * space.f_frsize / (1024 * 1024);
  const auto detail = data_ + " is writable, " + std::to_string(free_mib) + " MiB free";
  if (free_mib >= 1024) return report(Verdict::good, "data", detail);
  report(Verdict::poor, "data", detail + "; when the disk is full, no message is accepted");
}

bool Examination::is_server_running() const {
  const int fd = open((data_ + "/lock").c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return false;
  const bool held = flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  close(fd);
  return held;
}

void Examination::check_store() {
  if (installation::is_shared_store(config_)) return check_shared_store();
  const auto options = installation::sqlite_options(config_, data_ + "/sluice.db");
  if (!options) return report(Verdict::bad, "store", options.error().what);
  const auto& path = options.value().path;
  if (is_server_running()) return report(Verdict::good, "store", path + " is in use by a running server");
  if (access(path.c_str(), F_OK) != 0)
    return report(Verdict::good, "store", path + " does not exist; the first start creates it");
  auto reactor = world::make_reactor();
  if (!reactor) return report(Verdict::bad, "store", reactor.error().what);
  world::Metrics metrics;
  const auto store = store::open_sqlite(options.value(), *reactor.value(), metrics);
  if (!store) return report(Verdict::bad, "store", path + ": " + store.error().what);
  report(Verdict::good, "store", path + " opens");
}

void Examination::check_shared_store() {
  auto reactor = world::make_reactor();
  if (!reactor) return report(Verdict::bad, "store", reactor.error().what);
  world::Metrics metrics;
  const auto store = installation::open_store(config_, "", {}, *reactor.value(), metrics);
  if (!store) return report(Verdict::bad, "store", store.error().what);
  report(Verdict::good, "store", "PostgreSQL answers; servers may share it");
}

void Examination::check_tls() {
  const auto& certificate = config_.text("server.tls_cert");
  if (const auto fine = installation::check_config(config_); !fine)
    return report(Verdict::bad, "config", fine.error().what);
  if (certificate.empty()) {
    return report(Verdict::good, "tls",
                  "off; keys are sent unencrypted, so listen on loopback or behind a proxy with TLS");
  }
  report(Verdict::good, "tls", certificate + " and its key can be read");
}

void Examination::check_port() {
  const auto address = config::parse_listen_address(config_.text("server.listen"));
  if (!address) return report(Verdict::bad, "port", address.error().what);
  addrinfo hints{}, *found = nullptr;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  const auto& [host, port] = address.value();
  if (const int why = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found); why != 0) {
    return report(Verdict::bad, "port", host + ": " + gai_strerror(why));
  }
  const int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const bool free = bind(fd, found->ai_addr, found->ai_addrlen) == 0;
  const std::string why = std::strerror(errno);
  freeaddrinfo(found);
  close(fd);
  if (free) return report(Verdict::good, "port", config_.text("server.listen") + " can be listened on");
  report(Verdict::bad, "port",
         config_.text("server.listen") + ": " + why + "; choose another with --listen ADDRESS:PORT");
}

Result<client::Reply> Examination::get(client::Session& session, world::Reactor& reactor, std::string path) {
  std::optional<Result<client::Reply>> reply;
  const auto pending = session.request("GET", std::move(path), "", {}, [&](Result<client::Reply> result) {
    reply.emplace(std::move(result));
    reactor.stop();
  });
  while (!reply) reactor.run();
  return std::move(*reply);
}

void Examination::check_server() {
  if (!is_server_running()) {
    check_port();
    return report(Verdict::poor, "server", "no server runs on " + data_ + "; start one with: sluice serve");
  }
  const auto text = read_small_file(data_ + "/bootstrap.json");
  const auto bootstrap =
      text && text.value() ? installation::Bootstrap::parse(*text.value()) : Result<installation::Bootstrap>(Error{});
  if (!bootstrap)
    return report(Verdict::bad, "server", data_ + "/bootstrap.json cannot be read, so the server's URL is unknown");
  auto reactor = world::make_reactor();
  if (!reactor) return report(Verdict::bad, "server", reactor.error().what);
  const auto client = net::make_client(*reactor.value(), {.ca_file = config_.text("server.tls_cert")});
  if (!client) return report(Verdict::bad, "server", client.error().what);
  const auto& url = bootstrap.value().base_url;
  client::Session session({url, bootstrap.value().service_key}, {}, *client.value(), *reactor.value());
  const auto ready = get(session, *reactor.value(), "/readyz");
  if (!ready) return report(Verdict::bad, "server", url + ": " + ready.error().what);
  if (ready.value().status != 200) {
    return report(Verdict::bad, "server",
                  url + " is not ready; messages are refused: it is starting, draining, or its store is broken");
  }
  report(Verdict::good, "server", url + " is ready");
  check_key(session, *reactor.value());
}

void Examination::check_key(client::Session& session, world::Reactor& reactor) {
  const auto self = get(session, reactor, "/v1/integration/self");
  if (self && self.value().status == 200)
    return report(Verdict::good, "key", "the service key of bootstrap.json is valid");
  report(
      Verdict::poor, "key",
      "the service key of bootstrap.json is not accepted; create another with: sluice keys create, and set SLUICE_KEY "
      "to it");
}

void Examination::check_providers() {
  for (const auto& name : config_.provider_names()) {
    if (config_.provider(name, "dialect") == "offline") {
      report(Verdict::good, "provider " + name, "built in, needs no key");
      continue;
    }
    const auto variable = config_.provider(name, "api_key_env");
    if (!config_.provider(name, "api_key").empty()) {
      report(Verdict::good, "provider " + name, "has a key");
      continue;
    }
    const bool is_default = config_.text("models.default_provider") == name;
    const auto remedy = variable.empty() ? "set providers." + name + ".api_key if it needs one" : "set " + variable;
    report(is_default ? Verdict::bad : Verdict::poor, "provider " + name,
           "has no key: agents that use it fail; " + remedy);
  }
}

void Examination::check_sandbox() {
  const auto& driver = config_.text("sandbox.driver");
  if (driver == "off") return report(Verdict::poor, "sandbox", "off (sandbox.driver): agents have no tools");
  const auto options = installation::sandbox_options(config_, data_);
  for (const auto& ability : sandbox::probe_abilities(options)) {
    report(ability.there ? Verdict::good : Verdict::poor, "sandbox: " + ability.name, ability.means);
  }
  check_users(options);
  check_sandbox_start(options);
}

// An account that may use these ids in a container of its own could read workspaces and stop sandboxes.
void Examination::check_users(const sandbox::SandboxOptions& options) {
  if (geteuid() != 0) return;
  const auto last = options.host_uid + options.host_uid_count;
  const auto range = std::to_string(options.host_uid) + " to " + std::to_string(last);
  std::string others;
  for (const auto* const file : {"/etc/subuid", "/etc/subgid"}) {
    const auto text = read_small_file(file);
    if (!text || !text.value()) continue;
    for (const auto& owner : installation::owners_of_range(*text.value(), options.host_uid, last)) {
      others += (others.empty() ? "" : ", ") + std::string(file) + ": " + owner;
    }
  }
  const auto begun_with = installation::host_uid_begun_with(options.state_dir);
  if (begun_with && *begun_with != options.host_uid) {
    report(Verdict::poor, "sandbox: users",
           range + ", but the data directory was begun with " + std::to_string(*begun_with) +
               ": no sandbox can write to the existing workspaces; set sandbox.host_uid to 0 or to that number");
  } else if (!others.empty()) {
    report(Verdict::poor, "sandbox: users",
           range + " are also assigned to accounts for rootless containers, which could read workspaces (" + others +
               "): assign other numbers there, or set sandbox.host_uid in a new data directory");
  } else {
    report(Verdict::good, "sandbox: users", range + ", which /etc/subuid assigns to no account");
  }
}

// The kernel limits open files for the whole machine, and no control group divides them.
void Examination::check_open_files() {
  const auto text = read_small_file("/proc/sys/fs/file-max");
  uint64_t most = 0;
  if (!text || !text.value() || std::sscanf(text.value()->c_str(), "%" SCNu64, &most) != 1) return;
  const auto limits = installation::sandbox_options(config_, data_).limits;
  const auto sandboxes = static_cast<uint64_t>(config_.integer("capacity.max_running"));
  const auto of_one = static_cast<uint64_t>(limits.processes_max) * static_cast<uint64_t>(limits.open_files_max);
  const auto detail =
      std::to_string(sandboxes) + " sandboxes may have " + std::to_string(sandboxes * of_one) +
      " files open (capacity.max_running, sandbox.processes_max, sandbox.open_files_max), the machine " +
      std::to_string(most);
  // Half of them is left to the server and to other programs.
  if (limits.processes_max > 0 && sandboxes * of_one <= most / 2) return report(Verdict::good, "open files", detail);
  report(Verdict::poor, "open files",
         detail +
             ": sandboxes could leave none to other programs. Raise it with sysctl fs.file-max, where memory is what "
             "limits sandboxes, or lower one of the three");
}

// Runs a command in a sandbox, in a state directory of its own.
void Examination::check_sandbox_start(const sandbox::SandboxOptions& options) {
  const auto verdict = config_.text("sandbox.driver") == "auto" ? Verdict::poor : Verdict::bad;
  const auto tried = try_sandbox(options);
  if (tried) return report(Verdict::good, "sandbox", "a command ran in a sandbox, " + tried.value());
  report(verdict, "sandbox", "no sandbox can be made, so agents have no tools: " + tried.error().what);
}

// A missing program is no fault: only agents of its type need it.
void Examination::check_programs() {
  if (config_.text("sandbox.driver") == "off") return;
  for (const auto& found : installation::look_for_programs(installation::sandbox_options(config_, data_))) {
    const bool is_odd = found.place == installation::ProgramPlace::hidden || !found.is_tested();
    report(is_odd ? Verdict::poor : Verdict::good, "program " + std::string(found.program->agent_type),
           found.describe());
  }
}

std::string_view name_of(Verdict verdict) {
  return verdict == Verdict::good ? "ok" : verdict == Verdict::poor ? "warning" : "missing";
}

void print_json(const std::vector<Finding>& findings) {
  std::string out;
  json::Writer writer(out);
  writer.begin_array();
  for (const auto& [verdict, what, detail] : findings) {
    writer.begin_object().key("check").string(what).key("verdict").string(name_of(verdict));
    writer.key("detail").string(detail).end_object();
  }
  writer.end_array();
  std::printf("%s\n", out.c_str());
}

}  // namespace

int doctor(const Call& call) {
  const auto findings = Examination(call.config).examine();
  const bool is_bad = std::ranges::find(findings, Verdict::bad, &Finding::verdict) != findings.end();
  const int code = is_bad ? cli::exit_failed : cli::exit_ok;
  if (call.form == Form::json) {
    print_json(findings);
    return code;
  }
  std::size_t width = 0;
  for (const auto& finding : findings) width = std::max(width, finding.what.size());
  for (const auto& [verdict, what, detail] : findings) {
    std::printf("%-8s %-*s %s\n", std::string(name_of(verdict)).c_str(), static_cast<int>(width), what.c_str(),
                detail.c_str());
  }
  return code;
}

}  // namespace sluice::ops
