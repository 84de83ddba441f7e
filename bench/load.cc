// The load client of the benchmarks: one thread, epoll, a conversation per connection.
//
//   load messages --port P --key K --connections C --seconds S --content TEXT
//       Closed loop: each connection sends a message, reads its stream to the end, sends the next.
//   load hold     --port P --key K --connections C --content TEXT
//       Opens C streams, prints a line when each has had an event, and holds them until stdin closes.
//   load paced    --port P --key K --connections C --content "tokens N RATE" --rate RATE
//       One stream per connection, read to the end.
//   --rate RATE   measures how far each delta is off the beat.
//   --ramp-ms M   spreads the first messages over M milliseconds.
//   --keys FILE   a key on each line; conversations take turns with them.
//   --dialect D   how the server is spoken to (bench/dialect.h).
//   --patience S  gives up after S seconds in which nothing came; --limit S after S seconds in all.
//
// Prints one line of JSON.
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "bench/conversation.h"
#include "bench/dialect.h"
#include "bench/figures.h"
#include "bench/link.h"

namespace sluice::bench {
namespace {

[[noreturn]] void die(const std::string& what) {
  std::fprintf(stderr, "load: %s\n", what.c_str());
  std::exit(1);
}

class Load final : public LinkListener {
 public:
  Load(const Options& options, const Dialect& dialect)
      : options_(options), dialect_(dialect), epoll_(epoll_create1(EPOLL_CLOEXEC)) {}
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;
  ~Load() override { close(epoll_); }

  // Connects and creates the conversations, a few at a time so that no listen queue overflows.
  void prepare() {
    if (dialect_.feed() == Feed::shared) {
      feed_.open(epoll_, options_.port);
      while (!listening_) step(100);
    }
    constexpr int at_once = 128;
    while (count(Phase::idle) + count(Phase::failed) < options_.connections) {
      const int pending = static_cast<int>(conversations_.size()) - count(Phase::idle) - count(Phase::failed);
      for (int n = pending; n < at_once && std::ssize(conversations_) < options_.connections; ++n) {
        const int index = static_cast<int>(conversations_.size());
        conversations_.push_back(std::make_unique<Conversation>(options_, dialect_, figures_, index, epoll_));
        conversations_.back()->open();
      }
      step(1000);
    }
    if (figures_.failures > 0) die("not every connection came to stand");
    for (const auto& conversation : conversations_) by_id_[conversation->id()] = conversation.get();
  }

  double run_messages() {
    const double began = now_ms(), until = began + options_.seconds * 1e3;
    for (;;) {
      const double now = now_ms();
      figures_.send_again = now < until;
      if (now < until) start(due(now - began));
      if (now >= until && count(Phase::streaming) == 0) break;
      step(started_ < options_.connections ? 1 : 50);
    }
    return (now_ms() - began) / 1e3;
  }

  double run_once(bool to_the_end) {
    const double began = now_ms();
    for (;;) {
      start(due(now_ms() - began));
      const bool reached = to_the_end ? count(Phase::streaming) == 0 : everyone_had_an_event();
      if (started_ == options_.connections && reached) break;
      step(started_ < options_.connections ? 1 : 100);
    }
    return (now_ms() - began) / 1e3;
  }

  void report(double seconds) const {
    std::printf("%s\n", to_json(figures_, seconds).c_str());
    std::fflush(stdout);
  }

  // The feed that all share.
  void on_connected() override { feed_.send(dialect_.listening(0)); }
  void on_body(int, std::string_view piece) override {
    listening_ = true;
    lines_.take(piece, [this](std::string_view line) {
      const auto found = by_id_.find(std::string(dialect_.conversation_of(line)));
      if (found != by_id_.end()) found->second->take_line(line);
    });
  }
  void on_answered(int status) override { die("the feed ended with " + std::to_string(status)); }
  void on_broken(const std::string& why) override { die("feed: " + why); }

 private:
  int count(Phase phase) const { return figures_.count(phase); }
  bool everyone_had_an_event() const { return figures_.had_event + count(Phase::failed) >= options_.connections; }
  // How many connections may have begun. A ramp keeps paced streams from ticking all at one instant.
  int due(double elapsed_ms) const {
    if (elapsed_ms >= options_.ramp_ms) return options_.connections;
    return static_cast<int>(elapsed_ms / options_.ramp_ms * options_.connections);
  }
  void start(int ready) {
    for (; started_ < ready; ++started_) conversations_[static_cast<std::size_t>(started_)]->send_message();
  }

  void step(int timeout_ms) {
    epoll_event events[512];
    const int ready = epoll_wait(epoll_, events, 512, timeout_ms);
    for (int i = 0; i < ready; ++i) static_cast<Link*>(events[i].data.ptr)->ready(events[i].events);
    const double now = now_ms();
    if (ready > 0) last_sign_ = now;
    if (now - last_sign_ > options_.patience_ms) die("nothing came any more");
    if (now - began_ > options_.limit_ms) die("it took too long");
  }

  const Options& options_;
  const Dialect& dialect_;
  int epoll_;
  int started_ = 0;
  bool listening_ = false;
  double began_ = now_ms();
  double last_sign_ = began_;
  Figures figures_;
  Link feed_{options_.keys.front(), *this};
  Lines lines_;
  std::vector<std::unique_ptr<Conversation>> conversations_;
  std::unordered_map<std::string, Conversation*> by_id_;
};

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  if (lines.empty()) die("nothing in " + path);
  return lines;
}

Options parse(int argc, char** argv) {
  Options options;
  if (argc < 2) die("which mode? messages, hold or paced");
  options.mode = argv[1];
  for (int i = 2; i + 1 < argc; i += 2) {
    const std::string_view flag = argv[i];
    const std::string value = argv[i + 1];
    if (flag == "--port")
      options.port = std::stoi(value);
    else if (flag == "--key")
      options.keys = {value};
    else if (flag == "--keys")
      options.keys = lines_of(value);
    else if (flag == "--content")
      options.content = value;
    else if (flag == "--connections")
      options.connections = std::stoi(value);
    else if (flag == "--seconds")
      options.seconds = std::stod(value);
    else if (flag == "--ramp-ms")
      options.ramp_ms = std::stod(value);
    else if (flag == "--rate")
      options.rate = std::stod(value);
    else if (flag == "--dialect")
      options.dialect = value;
    else if (flag == "--patience")
      options.patience_ms = std::stod(value) * 1e3;
    else if (flag == "--limit")
      options.limit_ms = std::stod(value) * 1e3;
    else
      die("no such flag: " + std::string(flag));
  }
  return options;
}

int run(const Options& options) {
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);

  const auto dialect = make_dialect(options.dialect);
  if (!dialect) die("no such dialect: " + options.dialect);
  Load load(options, *dialect);
  load.prepare();
  if (options.mode == "messages") {
    load.report(load.run_messages());
  } else if (options.mode == "paced") {
    load.report(load.run_once(true));
  } else if (options.mode == "hold") {
    load.report(load.run_once(false));
    while (std::getchar() != EOF) {
    }
  } else {
    die("no such mode: " + options.mode);
  }
  return 0;
}

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) { return sluice::bench::run(sluice::bench::parse(argc, argv)); }
