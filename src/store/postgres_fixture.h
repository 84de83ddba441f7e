// A real PostgreSQL for tests: a server of this program's own, on a socket in a folder of its own, and databases in it
// that live as long as a test. Whatever becomes of the program, the server goes with it.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "store/pg_session.h"

namespace sluice::store {

class PostgresServer {
 public:
  PostgresServer() : folder_(make_folder()) {
    run_to_end({"initdb", "-D", data(), "-U", "sluice", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"});
    start();
  }
  ~PostgresServer() {
    stop(SIGQUIT);
    std::filesystem::remove_all(folder_);
  }
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;

  // The one of this program, begun when it is first asked for.
  static PostgresServer& shared() {
    static auto* server = [] {
      std::atexit([] { delete &shared(); });
      return new PostgresServer;
    }();
    return *server;
  }

  void start(std::vector<std::string> settings = {}) {
    std::array<int, 2> output{};
    SLUICE_CHECK(::pipe2(output.data(), O_CLOEXEC) == 0);
    std::vector<std::string> command = {"postgres", "-D", data(), "-k", folder_};
    for (const char* setting : {"listen_addresses=", "shared_buffers=32MB", "max_connections=60", "max_wal_size=256MB",
                                "log_min_messages=log", "autovacuum_naptime=10s", "full_page_writes=off",
                                // Tables that were never analysed look so large that statements would be compiled.
                                "jit=off",
                                // Processes die here; the machine does not.
                                "fsync=off"}) {
      settings.emplace_back(setting);
    }
    for (const auto& setting : settings) command.insert(command.end(), {"-c", setting});
    process_ = launch(command, output[1]);
    ::close(output[1]);
    listener_ = std::thread([this, from = output[0]] { listen(from); });
    std::unique_lock lock(mutex_);
    const bool began = said_.wait_for(lock, std::chrono::seconds(60), [this] { return is_ready_ || is_gone_; });
    if (!began || is_gone_) check_failed(("PostgreSQL starts: " + log_).c_str(), __FILE__, __LINE__);
  }
  // SIGTERM waits for sessions, SIGINT ends them, SIGQUIT is a crash, SIGKILL one that nobody cleans up after.
  void stop(int signal) {
    if (process_ <= 0) return;
    ::kill(process_, signal);
    ::waitpid(std::exchange(process_, 0), nullptr, 0);
    listener_.join();  // until the last of its processes is gone
    is_ready_ = is_gone_ = false;
    // A postmaster that was killed leaves these.
    std::filesystem::remove(data() + "/postmaster.pid");
  }
  pid_t process() const { return process_; }

  std::string url(const std::string& database = "postgres") const {
    return "postgresql://sluice@/" + database + "?host=" + folder_;
  }
  // As the administrator; must work.
  void run(const std::string& sql, const std::string& database = "postgres") {
    auto session = PgSession::connect({.url = url(database)});
    if (!session) check_failed(session.error().what.c_str(), __FILE__, __LINE__);
    session.value()->run(sql.c_str());
    if (const auto failure = session.value()->failure()) check_failed(failure->what.c_str(), __FILE__, __LINE__);
  }
  // Made by `fill` once, copied for each test from then on.
  std::string make_template(const std::string& name, const std::function<void(const std::string& url)>& fill) {
    const std::lock_guard lock(mutex_);
    for (const auto& made : templates_) {
      if (made == name) return name;
    }
    run("CREATE DATABASE " + name);
    fill(url(name));
    templates_.push_back(name);
    return name;
  }
  std::string next_name() { return "test_" + std::to_string(++made_); }

 private:
  static std::string make_folder() {
    std::string name = (std::filesystem::temp_directory_path() / "sluice-pg-XXXXXX").string();
    SLUICE_CHECK(::mkdtemp(name.data()) != nullptr);
    if (const auto* user = other_user()) SLUICE_CHECK(::chown(name.c_str(), user->pw_uid, user->pw_gid) == 0);
    return name;
  }
  // PostgreSQL does not run as root.
  static const passwd* other_user() {
    if (::geteuid() != 0) return nullptr;
    const auto* user = ::getpwnam("postgres");
    return user != nullptr ? user : ::getpwnam("nobody");
  }
  static std::string program(const std::string& name) {
    std::string latest;
    for (const auto& entry : std::filesystem::directory_iterator("/usr/lib/postgresql")) {
      latest = std::max(latest, entry.path().string());
    }
    return latest + "/bin/" + name;
  }
  std::string data() const { return folder_ + "/data"; }

  pid_t launch(const std::vector<std::string>& command, int output) const {
    const auto path = program(command[0]);
    const auto* user = other_user();
    const auto parent = ::getpid();
    std::vector<char*> arguments;
    for (const auto& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    const pid_t child = ::fork();
    if (child != 0) return child;
    if (user != nullptr && (::setgid(user->pw_gid) != 0 || ::setuid(user->pw_uid) != 0)) ::_exit(126);
    // After the change of user, which would undo it.
    ::prctl(PR_SET_PDEATHSIG, SIGQUIT);
    if (::getppid() != parent) ::_exit(126);
    if (::chdir(folder_.c_str()) != 0) ::_exit(126);
    ::dup2(output, STDOUT_FILENO);
    ::dup2(output, STDERR_FILENO);
    ::execv(path.c_str(), arguments.data());
    ::_exit(127);
  }
  void run_to_end(const std::vector<std::string>& command) const {
    const int log = ::open((folder_ + "/log").c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
    int status = 0;
    ::waitpid(launch(command, log), &status, 0);
    ::close(log);
    if (status != 0) check_failed((command[0] + " failed, see " + folder_ + "/log").c_str(), __FILE__, __LINE__);
  }
  void listen(int from) {
    std::array<char, 4096> part{};
    for (;;) {
      const auto size = ::read(from, part.data(), part.size());
      const std::lock_guard lock(mutex_);
      if (size > 0) log_.append(part.data(), static_cast<std::size_t>(size));
      if (size <= 0) is_gone_ = true;
      if (log_.find("ready to accept connections") != std::string::npos) is_ready_ = true;
      if (is_ready_) log_.clear();
      said_.notify_all();
      if (size <= 0) break;
    }
    ::close(from);
  }

  std::string folder_;
  pid_t process_ = 0;
  int made_ = 0;
  std::vector<std::string> templates_;
  std::thread listener_;
  std::mutex mutex_;
  std::condition_variable said_;
  std::string log_;        // guarded by mutex_
  bool is_ready_ = false;  // guarded by mutex_
  bool is_gone_ = false;   // guarded by mutex_
};

// A database for one test.
class PostgresDatabase {
 public:
  explicit PostgresDatabase(PostgresServer& server = PostgresServer::shared(), const std::string& copied = "template1")
      : server_(server), name_(server.next_name()) {
    server_.run("CREATE DATABASE " + name_ + " TEMPLATE " + copied);
  }
  ~PostgresDatabase() { server_.run("DROP DATABASE " + name_ + " WITH (FORCE)"); }
  PostgresDatabase(const PostgresDatabase&) = delete;
  PostgresDatabase& operator=(const PostgresDatabase&) = delete;

  std::string url() const { return server_.url(name_); }
  const std::string& name() const { return name_; }
  PostgresServer& server() { return server_; }
  void run(const std::string& sql) { server_.run(sql, name_); }

 private:
  PostgresServer& server_;
  std::string name_;
};

}  // namespace sluice::store
