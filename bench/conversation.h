// One conversation of the load client: it is created, then each message is sent and its stream read to the end.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/dialect.h"
#include "bench/figures.h"
#include "bench/link.h"

namespace sluice::bench {

struct Options {
  std::string mode;
  std::string dialect = "sluice";
  std::vector<std::string> keys = {"none"};  // conversations take turns with them
  std::string content = "tokens 50";
  int port = 0;
  int connections = 1;
  double seconds = 5;
  double rate = 0;  // of deltas a second; how far each is off the beat is measured if it is said
  double ramp_ms = 0;
  double patience_ms = 60'000;  // without a sign of life
  double limit_ms = 600'000;    // for everything
};

// Cuts what comes into lines.
class Lines final {
 public:
  void take(std::string_view piece, const std::function<void(std::string_view)>& on_line);
  const std::string& rest() const { return rest_; }
  void clear() { rest_.clear(); }

 private:
  std::string rest_;
};

class Conversation final : public LinkListener {
 public:
  Conversation(const Options& options, const Dialect& dialect, Figures& figures, int index, int epoll);
  ~Conversation() override = default;
  Conversation(const Conversation&) = delete;
  Conversation& operator=(const Conversation&) = delete;

  void open();
  void send_message();
  void take_line(std::string_view line);
  const std::string& id() const { return id_; }

  void on_connected() override { id_.empty() ? create() : ask(); }
  void on_body(int status, std::string_view piece) override;
  void on_answered(int status) override;
  void on_broken(const std::string& why) override;

 private:
  // The second connection, where the dialect has one.
  class Ear final : public LinkListener {
   public:
    explicit Ear(Conversation& owner) : owner_(owner) {}
    void on_connected() override;
    void on_body(int status, std::string_view piece) override;
    void on_answered(int) override { owner_.fail("the feed ended"); }
    void on_broken(const std::string& why) override { owner_.fail("feed: " + why); }

   private:
    Conversation& owner_;
    Lines lines_;
  };

  void enter(Phase phase);
  void create();
  void ask();
  void measure_delta(std::string_view line, double at);
  void end_if_over();
  void fail(const std::string& why);

  const Options& options_;
  const Dialect& dialect_;
  Figures& figures_;
  int index_;
  int epoll_;
  Phase phase_ = Phase::connecting;
  std::size_t created_ = 0;  // of the dialect's requests
  std::string id_;
  long turn_ = 0;
  Link link_;
  Lines lines_;
  Ear ear_{*this};
  Link feed_;
  double sent_at_ = 0;
  double last_delta_at_ = 0;
  int deltas_ = 0;
  bool had_event_ = false;
  bool answered_ = false;
  bool away_ = false;  // the server closed a connection that was idle
  bool ended_ = false;
};

}  // namespace sluice::bench
