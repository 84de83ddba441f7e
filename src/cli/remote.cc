#include "cli/remote.h"

#include <pthread.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include <fstream>
#include <sstream>

#include "base/bytes.h"
#include "base/json.h"

namespace sluice::cli {
namespace {

std::string variable(const Environment& environment, std::string_view name) {
  for (const auto& [key, value] : environment) {
    if (key == name) return value;
  }
  return "";
}

std::string first_of(std::string a, std::string b, std::string c = "") {
  if (!a.empty()) return a;
  return !b.empty() ? b : c;
}

Result<Unit> read_bootstrap(const std::string& path, Access& access) {
  std::ifstream file(path);
  if (!file) return Error{ErrorKind::invalid, "cannot read " + path};
  std::ostringstream content;
  content << file.rdbuf();
  const auto document = json::Document::parse(content.str());
  if (!document) return Error{ErrorKind::invalid, path + ": " + document.error().what};
  const auto root = document.value().root();
  access.url = text_of(root, "base_url");
  access.key = text_of(root, "service_key");
  access.admin_key = text_of(root, "admin_key");
  access.tenant_id = text_of(root, "tenant_id");
  if (root.find("approver_key")) access.approver_file = path;
  return Unit{};
}

}  // namespace

Result<Access> find_access(const Arguments& arguments, const Environment& environment) {
  Access access;
  const auto asked = first_of(arguments.flag("--data"), variable(environment, "SLUICE_SERVER_DATA"));
  access.data_dir = first_of(asked, "./sluice-data");
  // A default directory may be missing, because the keys can come from elsewhere.
  if (auto read = read_bootstrap(access.data_dir + "/bootstrap.json", access); !read && !asked.empty())
    return read.error();

  auto url = first_of(arguments.flag("--url"), variable(environment, "SLUICE_URL"));
  // The keys of the machine's own server are not sent to another one.
  if (!url.empty() && url != access.url && asked.empty()) {
    access.key = access.admin_key = access.tenant_id = access.approver_file = "";
  }
  access.url = first_of(url, access.url, "http://127.0.0.1:8080");
  access.key = first_of(arguments.flag("--key"), variable(environment, "SLUICE_KEY"), access.key);
  access.admin_key =
      first_of(arguments.flag("--admin-key"), variable(environment, "SLUICE_ADMIN_KEY"), access.admin_key);
  access.ca_file = arguments.flag("--ca-file");
  return access;
}

namespace {

constexpr int64_t quiet_ms_max = 3'600'000;  // of a trace: a tool may be silent for long

// While it lives, Ctrl-C is news for the loop and does not end the program.
class InterruptWatch {
 public:
  InterruptWatch(world::Reactor& reactor, Callback<void()> on_interrupt) : on_interrupt_(std::move(on_interrupt)) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    pthread_sigmask(SIG_BLOCK, &set, &before_);
    fd_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    SLUICE_CHECK(fd_ >= 0);
    watch_ = reactor.watch(fd_, {.read = true}, [this](world::Ready) {
      signalfd_siginfo info{};
      if (read(fd_, &info, sizeof info) == sizeof info) on_interrupt_();
    });
  }
  ~InterruptWatch() {
    watch_.reset();
    signalfd_siginfo info{};
    while (read(fd_, &info, sizeof info) == sizeof info) {
    }
    close(fd_);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

 private:
  sigset_t before_;
  int fd_;
  Callback<void()> on_interrupt_;
  std::unique_ptr<world::Watch> watch_;
};

// An answer that is passed on as it arrives.
class Pour final : private net::CallListener {
 public:
  Pour(net::Client& client, net::ClientRequest request, std::function<void(std::string_view)> on_bytes,
       Callback<void()> on_over)
      : on_bytes_(std::move(on_bytes)), on_over_(std::move(on_over)), call_(client.call(std::move(request), *this)) {}

  std::optional<Result<client::Reply>> outcome;

 private:
  void on_head(int status, const net::Headers& headers) override { reply_ = {status, headers, ""}; }
  void on_body(std::string_view bytes) override {
    if (reply_.status < 400) return on_bytes_(bytes);
    reply_.body += bytes.substr(0, client::reply_bytes_max - reply_.body.size());
  }
  void on_end(net::CallEnd end) override {
    if (end.failure) {
      outcome.emplace(Error{ErrorKind::unavailable, std::move(end.what)});
    } else {
      outcome.emplace(std::move(reply_));
    }
    on_over_();
  }

  client::Reply reply_;
  std::function<void(std::string_view)> on_bytes_;
  Callback<void()> on_over_;
  std::unique_ptr<net::Call> call_;
};

class HttpRemote final : public Remote {
 public:
  HttpRemote(const Access& access, std::unique_ptr<world::Reactor> reactor, std::unique_ptr<net::Client> client)
      : access_(access),
        reactor_(std::move(reactor)),
        client_(std::move(client)),
        entropy_(world::make_system_entropy()),
        service_({access.url, access.key}, {.full = true}, *client_, *reactor_),
        admin_({access.url, access.admin_key}, {}, *client_, *reactor_) {}

  Result<client::Reply> request(As as, std::string method, std::string path, std::string body) override {
    std::optional<Result<client::Reply>> reply;
    auto& session = as == As::service ? service_ : admin_;
    const auto pending = session.request(std::move(method), std::move(path), std::move(body), {},
                                         [this, &reply](Result<client::Reply> result) {
                                           reply.emplace(std::move(result));
                                           reactor_->stop();
                                         });
    while (!reply) reactor_->run();
    return std::move(*reply);
  }

  Result<client::Reply> stream(std::string method, std::string path, std::string body,
                               std::function<void(std::string_view)> on_bytes) override {
    auto base = access_.url;
    while (base.ends_with('/')) base.pop_back();
    net::ClientRequest request{.method = std::move(method),
                               .url = base + path,
                               .body = std::move(body),
                               .idle_ms_max = quiet_ms_max,
                               .total_ms_max = 0};
    if (!request.body.empty()) request.headers.add("Content-Type", "application/json");
    if (!access_.key.empty()) request.headers.add("Authorization", "Bearer " + access_.key);
    Pour pour(*client_, std::move(request), std::move(on_bytes), [this] { reactor_->stop(); });
    while (!pour.outcome) reactor_->run();
    return std::move(*pour.outcome);
  }

  Followed send_message(std::string conversation_id, std::string body, AnswerListener& listener) override {
    std::array<uint8_t, 16> noise{};
    entropy_->fill(noise);
    const auto key = to_base64url({reinterpret_cast<const char*>(noise.data()), noise.size()});
    return wait(listener, [&](client::Hearing hearing, Callback<void(client::Outcome)> done) {
      return service_.send_message(std::move(conversation_id), std::move(body), {{"Idempotency-Key", key}},
                                   std::move(hearing), std::move(done));
    });
  }

  Followed follow(std::string message_id, int64_t after, AnswerListener& listener) override {
    return wait(listener, [&](client::Hearing hearing, Callback<void(client::Outcome)> done) {
      return service_.follow(std::move(message_id), after, std::move(hearing), std::move(done));
    });
  }

 private:
  template <typename Start>
  Followed wait(AnswerListener& listener, Start&& start) {
    std::optional<Followed> followed;
    const auto end = [this, &followed](Followed result) {
      if (!followed) followed.emplace(std::move(result));
      reactor_->stop();
    };
    const InterruptWatch interrupts(*reactor_, [&end] { end({.interrupted = true}); });
    world::Timer leave;
    client::Hearing hearing{[&](const client::Event& event) {
                              listener.on_event(event);
                              if (!listener.wants_to_leave()) return leave.cancel();
                              // Later, because more may have come with it that makes leaving needless.
                              leave = reactor_->after({0}, [&end] { end({.left = true}); });
                            },
                            [&listener](client::Link link) { listener.on_link(link); }};
    const auto pending = start(std::move(hearing), [&end](client::Outcome outcome) { end({std::move(outcome)}); });
    while (!followed) reactor_->run();
    return std::move(*followed);
  }

  const Access access_;
  std::unique_ptr<world::Reactor> reactor_;
  std::unique_ptr<net::Client> client_;
  std::unique_ptr<world::Entropy> entropy_;
  client::Session service_;
  client::Session admin_;
};

}  // namespace

Result<std::unique_ptr<Remote>> make_remote(const Access& access) {
  auto reactor = world::make_reactor();
  if (!reactor) return reactor.error();
  auto client = net::make_client(*reactor.value(), {.ca_file = access.ca_file});
  if (!client) return client.error();
  return std::unique_ptr<Remote>(
      std::make_unique<HttpRemote>(access, std::move(reactor).take(), std::move(client).take()));
}

}  // namespace sluice::cli
