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

#include "app/app.h"
#include "app/bootstrap.h"
#include "app/box_trial.h"
#include "app/data_dir.h"
#include "app/hands.h"
#include "app/host_users.h"
#include "app/parts.h"
#include "app/programs.h"
#include "base/json.h"
#include "client/client.h"
#include "net/net.h"
#include "store/store.h"
#include "world/world.h"

namespace sluice::app {
namespace {

enum class Verdict : uint8_t { good, poor, bad };

struct Finding {
  Verdict verdict;
  std::string what;
  std::string detail;  // what was seen and, if it is not good, what it costs and what to do
};

class Examination final {
 public:
  explicit Examination(const Config& config) : config_(config), data_(config.text("server.data")) {}

  std::vector<Finding> examine() {
    look_at_kernel();
    look_at_descriptors();
    look_at_data_directory();
    look_at_store();
    look_at_tls();
    look_at_server();
    look_at_providers();
    look_at_sandbox();
    look_at_open_files();
    look_at_programs();
    return std::move(findings_);
  }

 private:
  void say(Verdict verdict, std::string what, std::string detail) {
    findings_.push_back({verdict, std::move(what), std::move(detail)});
  }

  void look_at_kernel();
  void look_at_descriptors();
  void look_at_data_directory();
  void look_at_store();
  void look_at_shared_store();
  void look_at_tls();
  void look_at_port();
  void look_at_server();
  void look_at_key(client::Session& session, world::Reactor& reactor);
  void look_at_providers();
  void look_at_sandbox();
  void look_at_users(const sandbox::SandboxOptions& options);
  void look_at_open_files();
  void look_at_a_box(const sandbox::SandboxOptions& options);
  void look_at_programs();

  bool a_server_holds_it() const;
  static Result<client::Reply> get(client::Session& session, world::Reactor& reactor, std::string path);

  const Config& config_;
  const std::string data_;
  std::vector<Finding> findings_;
};

void Examination::look_at_kernel() {
  utsname name{};
  uname(&name);
  say(Verdict::good, "kernel", std::string(name.sysname) + " " + name.release + " on " + name.machine);
}

void Examination::look_at_descriptors() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const auto wanted = static_cast<uint64_t>(config_.integer("limits.connections_max"));
  const auto most = connections_max(config_, true);
  const auto detail = std::to_string(limit.rlim_max) + " file descriptors at most";
  if (most >= wanted) return say(Verdict::good, "descriptors", detail);
  say(Verdict::poor, "descriptors",
      detail + ": connections may have half of them, so beyond " + std::to_string(most) +
          " they are refused, though limits.connections_max is " + std::to_string(wanted) +
          ". Raise the hard limit of nofile to " + std::to_string(2 * wanted));
}

void Examination::look_at_data_directory() {
  struct statvfs space {};
  if (access(data_.c_str(), F_OK) != 0)
    return say(Verdict::good, "data", data_ + " does not exist; the first start makes it");
  if (access(data_.c_str(), W_OK | X_OK) != 0 || statvfs(data_.c_str(), &space) != 0) {
    return say(Verdict::bad, "data", data_ + " is not writable: " + std::strerror(errno) + "; nothing can be stored");
  }
  const uint64_t free_mib = space.f_bavail * space.f_frsize / (1024 * 1024);
  const auto detail = data_ + " is writable, " + std::to_string(free_mib) + " MiB free";
  if (free_mib >= 1024) return say(Verdict::good, "data", detail);
  say(Verdict::poor, "data", detail + "; when it is full no message is accepted");
}

bool Examination::a_server_holds_it() const {
  const int fd = open((data_ + "/lock").c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return false;
  const bool held = flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  close(fd);
  return held;
}

void Examination::look_at_store() {
  if (is_shared_store(config_)) return look_at_shared_store();
  const auto options = sqlite_options(config_, data_ + "/sluice.db");
  if (!options) return say(Verdict::bad, "store", options.error().what);
  const auto& path = options.value().path;
  if (a_server_holds_it()) return say(Verdict::good, "store", path + " is in use by a running server");
  if (access(path.c_str(), F_OK) != 0)
    return say(Verdict::good, "store", path + " does not exist; the first start makes it");
  auto reactor = world::make_reactor();
  if (!reactor) return say(Verdict::bad, "store", reactor.error().what);
  world::Metrics metrics;
  const auto store = store::open_sqlite(options.value(), *reactor.value(), metrics);
  if (!store) return say(Verdict::bad, "store", path + ": " + store.error().what);
  say(Verdict::good, "store", path + " opens");
}

void Examination::look_at_shared_store() {
  auto reactor = world::make_reactor();
  if (!reactor) return say(Verdict::bad, "store", reactor.error().what);
  world::Metrics metrics;
  const auto store = open_store(config_, "", {}, *reactor.value(), metrics);
  if (!store) return say(Verdict::bad, "store", store.error().what);
  say(Verdict::good, "store", "PostgreSQL answers; servers may share it");
}

void Examination::look_at_tls() {
  const auto& certificate = config_.text("server.tls_cert");
  if (const auto fine = check_config(config_); !fine) return say(Verdict::bad, "config", fine.error().what);
  if (certificate.empty()) {
    return say(Verdict::good, "tls", "off; keys travel in clear, so stay on loopback or behind a proxy that has TLS");
  }
  say(Verdict::good, "tls", certificate + " and its key can be read");
}

void Examination::look_at_port() {
  const auto address = parse_listen_address(config_.text("server.listen"));
  if (!address) return say(Verdict::bad, "port", address.error().what);
  addrinfo hints{}, *found = nullptr;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  const auto& [host, port] = address.value();
  if (const int why = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found); why != 0) {
    return say(Verdict::bad, "port", host + ": " + gai_strerror(why));
  }
  const int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const bool free = bind(fd, found->ai_addr, found->ai_addrlen) == 0;
  const std::string why = std::strerror(errno);
  freeaddrinfo(found);
  close(fd);
  if (free) return say(Verdict::good, "port", config_.text("server.listen") + " can be listened on");
  say(Verdict::bad, "port", config_.text("server.listen") + ": " + why + "; choose another with --listen ADDRESS:PORT");
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

void Examination::look_at_server() {
  if (!a_server_holds_it()) {
    look_at_port();
    return say(Verdict::poor, "server", "none runs on " + data_ + "; start one with: sluice serve");
  }
  const auto text = read_small_file(data_ + "/bootstrap.json");
  const auto bootstrap = text && text.value() ? Bootstrap::parse(*text.value()) : Result<Bootstrap>(Error{});
  if (!bootstrap)
    return say(Verdict::bad, "server", data_ + "/bootstrap.json cannot be read; where the server is, is not known");
  auto reactor = world::make_reactor();
  if (!reactor) return say(Verdict::bad, "server", reactor.error().what);
  const auto client = net::make_client(*reactor.value(), {.ca_file = config_.text("server.tls_cert")});
  if (!client) return say(Verdict::bad, "server", client.error().what);
  const auto& url = bootstrap.value().base_url;
  client::Session session({url, bootstrap.value().service_key}, {}, *client.value(), *reactor.value());
  const auto ready = get(session, *reactor.value(), "/readyz");
  if (!ready) return say(Verdict::bad, "server", url + ": " + ready.error().what);
  if (ready.value().status != 200) {
    return say(Verdict::bad, "server",
               url + " is not ready; messages are refused: it is starting, draining, or its store is broken");
  }
  say(Verdict::good, "server", url + " is ready");
  look_at_key(session, *reactor.value());
}

void Examination::look_at_key(client::Session& session, world::Reactor& reactor) {
  const auto self = get(session, reactor, "/v1/integration/self");
  if (self && self.value().status == 200) return say(Verdict::good, "key", "the service key of bootstrap.json is good");
  say(Verdict::poor, "key",
      "the service key of bootstrap.json is not accepted; make another with: sluice keys create, and give it as "
      "SLUICE_KEY");
}

void Examination::look_at_providers() {
  for (const auto& name : config_.provider_names()) {
    if (config_.provider(name, "dialect") == "offline") {
      say(Verdict::good, "provider " + name, "built in, needs no key");
      continue;
    }
    const auto variable = config_.provider(name, "api_key_env");
    if (!config_.provider(name, "api_key").empty()) {
      say(Verdict::good, "provider " + name, "has a key");
      continue;
    }
    const bool is_default = config_.text("models.default_provider") == name;
    const auto remedy = variable.empty() ? "set providers." + name + ".api_key if it needs one" : "set " + variable;
    say(is_default ? Verdict::bad : Verdict::poor, "provider " + name,
        "has no key: agents that use it fail; " + remedy);
  }
}

void Examination::look_at_sandbox() {
  const auto& driver = config_.text("sandbox.driver");
  if (driver == "off") return say(Verdict::poor, "sandbox", "off: agents have no tools; sandbox.driver says so");
  const auto options = sandbox_options(config_, data_);
  for (const auto& ability : sandbox::probe_abilities(options)) {
    say(ability.there ? Verdict::good : Verdict::poor, "sandbox: " + ability.name, ability.means);
  }
  look_at_users(options);
  look_at_a_box(options);
}

// Whoever may have them in a container of their own could read workspaces, and stop sandboxes.
void Examination::look_at_users(const sandbox::SandboxOptions& options) {
  if (geteuid() != 0) return;
  const auto last = options.host_uid + options.host_uid_count;
  const auto range = std::to_string(options.host_uid) + " to " + std::to_string(last);
  std::string others;
  for (const auto* const file : {"/etc/subuid", "/etc/subgid"}) {
    const auto text = read_small_file(file);
    if (!text || !text.value()) continue;
    for (const auto& owner : owners_of_range(*text.value(), options.host_uid, last)) {
      others += (others.empty() ? "" : ", ") + std::string(file) + ": " + owner;
    }
  }
  const auto begun_with = host_uid_begun_with(options.state_dir);
  if (begun_with && *begun_with != options.host_uid) {
    say(Verdict::poor, "sandbox: users",
        range + ", but the data directory was begun with " + std::to_string(*begun_with) +
            ": no sandbox can write to the workspaces of before; set sandbox.host_uid to 0 or to that number");
  } else if (!others.empty()) {
    say(Verdict::poor, "sandbox: users",
        range + " are also given to people for containers of their own, who could read workspaces (" + others +
            "): give them other numbers there, or set sandbox.host_uid in a new data directory");
  } else {
    say(Verdict::good, "sandbox: users", range + ", which /etc/subuid gives nobody");
  }
}

// The kernel counts open files for the whole machine, and no control group divides them.
void Examination::look_at_open_files() {
  const auto text = read_small_file("/proc/sys/fs/file-max");
  uint64_t most = 0;
  if (!text || !text.value() || std::sscanf(text.value()->c_str(), "%" SCNu64, &most) != 1) return;
  const auto limits = sandbox_options(config_, data_).limits;
  const auto sandboxes = static_cast<uint64_t>(config_.integer("capacity.max_running"));
  const auto of_one = static_cast<uint64_t>(limits.processes_max) * static_cast<uint64_t>(limits.open_files_max);
  const auto detail =
      std::to_string(sandboxes) + " sandboxes may have " + std::to_string(sandboxes * of_one) +
      " files open (capacity.max_running, sandbox.processes_max, sandbox.open_files_max), the machine " +
      std::to_string(most);
  // Half of them is left to the server and to everything else.
  if (limits.processes_max > 0 && sandboxes * of_one <= most / 2) return say(Verdict::good, "open files", detail);
  say(Verdict::poor, "open files",
      detail +
          ": sandboxes could leave none to other programs. Raise it with sysctl fs.file-max, where memory is what "
          "limits sandboxes, or lower one of the three");
}

// The proof: a box in a directory of its own, in which a command runs.
void Examination::look_at_a_box(const sandbox::SandboxOptions& options) {
  const auto verdict = config_.text("sandbox.driver") == "auto" ? Verdict::poor : Verdict::bad;
  const auto tried = try_a_box(options);
  if (tried) return say(Verdict::good, "sandbox", "a command ran in a box, " + tried.value());
  say(verdict, "sandbox", "no box can be made, so agents have no tools: " + tried.error().what);
}

// None is needed by all: only agents of its type miss it.
void Examination::look_at_programs() {
  if (config_.text("sandbox.driver") == "off") return;
  for (const auto& found : look_for_programs(sandbox_options(config_, data_))) {
    const bool is_odd = found.place == ProgramPlace::hidden || !found.is_tested();
    say(is_odd ? Verdict::poor : Verdict::good, "program " + std::string(found.program->agent_type), found.words());
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

int doctor(const Config& config, Form form) {
  const auto findings = Examination(config).examine();
  bool healthy = true;
  for (const auto& finding : findings) healthy = healthy && finding.verdict != Verdict::bad;
  if (form == Form::json) {
    print_json(findings);
    return healthy ? 0 : 1;
  }
  std::size_t width = 0;
  for (const auto& finding : findings) width = std::max(width, finding.what.size());
  for (const auto& [verdict, what, detail] : findings) {
    std::printf("%-8s %-*s %s\n", std::string(name_of(verdict)).c_str(), static_cast<int>(width), what.c_str(),
                detail.c_str());
  }
  return healthy ? 0 : 1;
}

}  // namespace sluice::app
