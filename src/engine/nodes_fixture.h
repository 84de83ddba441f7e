// Several servers in one thread on one disk: each with its own agent, any of which can die, be stopped for a while, or
// leave.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/gate_fixture.h"

namespace sluice::engine {

// Time of one server: while it is stopped nothing of it happens, and then everything that was due does.
class StoppableLoop final : public world::Loop, private world::Timer::Keeper {
 public:
  explicit StoppableLoop(world::FakeLoop& loop) : loop_(loop) {}

  Timestamp now() const override { return {loop_.now().ms + ahead_ms_}; }
  // Its wall clock is wrong by so much from now on.
  void be_ahead(int64_t ms) { ahead_ms_ = ms; }
  int64_t monotonic_us() const override { return loop_.monotonic_us(); }
  world::Timer after(Millis delay, Callback<void()> then) override {
    const auto ticket = next_++;
    timers_[ticket] = loop_.after(delay, [this, ticket, then = wrap(std::move(then))]() mutable {
      const auto gone = timers_.extract(ticket);
      late_[ticket] = false;
      run([this, ticket, then = std::move(then)]() mutable {
        const auto late = late_.extract(ticket);
        if (!late.empty() && !late.mapped()) (*then)();
      });
    });
    return {*this, ticket};
  }
  void defer(Callback<void()> then) override {
    loop_.defer([this, alive = std::weak_ptr(alive_), then = wrap(std::move(then))] {
      if (!alive.expired()) run([then] { (*then)(); });
    });
  }
  void post(Callback<void()> then) override {
    loop_.post([this, alive = std::weak_ptr(alive_), then = wrap(std::move(then))] {
      if (!alive.expired()) run([then] { (*then)(); });
    });
  }

  void stop() { stopped_ = true; }
  void wake() {
    stopped_ = false;
    for (auto& then : std::exchange(kept_, {})) then();
  }

 private:
  using Shared = std::shared_ptr<Callback<void()>>;
  static Shared wrap(Callback<void()> then) { return std::make_shared<Callback<void()>>(std::move(then)); }
  void run(Callback<void()> then) {
    if (!stopped_) return then();
    kept_.push_back(std::move(then));
  }
  void forget(uint64_t ticket) override {
    timers_.erase(ticket);
    if (const auto late = late_.find(ticket); late != late_.end()) late->second = true;
  }

  world::FakeLoop& loop_;
  std::shared_ptr<char> alive_ = std::make_shared<char>();  // what is under way may come after the server's end
  int64_t ahead_ms_ = 0;
  bool stopped_ = false;
  uint64_t next_ = 1;
  std::map<uint64_t, world::Timer> timers_;
  std::map<uint64_t, bool> late_;  // due, and perhaps forgotten since
  std::vector<Callback<void()>> kept_;
};

// A server's way to the store, whose clock is right.
class StoreSide final : public world::Loop {
 public:
  StoreSide(world::FakeLoop& base, StoppableLoop& node) : base_(base), node_(node) {}
  Timestamp now() const override { return base_.now(); }
  int64_t monotonic_us() const override { return base_.monotonic_us(); }
  world::Timer after(Millis delay, Callback<void()> then) override { return node_.after(delay, std::move(then)); }
  void defer(Callback<void()> then) override { node_.defer(std::move(then)); }
  void post(Callback<void()> then) override {
    std::exchange(delays_next_, false) ? delayed_.push_back(std::move(then)) : node_.post(std::move(then));
  }

  // The store's next answer comes when it is released, and later answers before it.
  void delay_next_answer() { delays_next_ = true; }
  void release_answers() {
    for (auto& then : std::exchange(delayed_, {})) node_.post(std::move(then));
  }

 private:
  world::FakeLoop& base_;
  StoppableLoop& node_;
  bool delays_next_ = false;
  std::vector<Callback<void()>> delayed_;
};

// One server of several.
struct Node {
  Node(store::SimulatedDatabase& disk, world::FakeLoop& fake, world::IdSource& ids, world::Log& log,
       vault::Sealer& sealer, EngineOptions options)
      : loop(fake),
        store_side(fake, loop),
        dispatcher(loop),
        id(ids.make<model::NodeId>()),
        store(disk, store_side, id) {
    options.node_name = id.text();
    engine = make_engine({store, dispatcher, loop, ids, log, metrics, sealer, nullptr, nullptr}, options);
    engine->recover([this](const Result<Unit>& done) { recovered = bool(done); });
  }

  StoppableLoop loop;
  StoreSide store_side;
  world::Metrics metrics;
  ScriptedDispatcher dispatcher;
  model::NodeId id;
  store::SimulatedStore store;
  bool recovered = false;
  std::unique_ptr<Engine> engine;
};

// The server of EngineTest does not take part: its store is only looked into.
class NodesTest : public GateTest {
 protected:
  NodesTest() { engine.reset(); }
  ~NodesTest() override {
    for (auto& node : nodes) node.reset();
    loop.settle();
  }

  // `kept`: by those who were on its machine before it.
  Node& start_node(std::vector<dispatch::ParkedRun> kept = {}) {
    nodes.push_back(std::make_unique<Node>(disk, loop, ids, log, sealer, options));
    auto& node = *nodes.back();
    node.dispatcher.parked = std::move(kept);
    loop.settle();
    EXPECT_TRUE(node.recovered);
    return node;
  }
  void start_nodes(int count) {
    for (int i = 0; i < count; ++i) start_node();
    pass(2'000);  // everybody has heard everybody for long enough to judge
  }
  Node& node(std::size_t index) { return *nodes.at(index); }
  // SIGKILL.
  void kill(std::size_t index) { nodes.at(index).reset(); }
  void pass(int64_t ms) { loop.advance({ms}); }

  SendOutcome send_to(Node& where, Send what) {
    // Answers may be held back for longer than this is waited for.
    auto outcome = std::make_shared<SendOutcome>(model::Problem{});
    where.engine->send(std::move(what), [outcome](SendOutcome answer) { *outcome = std::move(answer); });
    loop.settle();
    return *outcome;
  }
  model::Run accepted_by(Node& where, Send what) {
    auto outcome = send_to(where, std::move(what));
    EXPECT_TRUE(std::holds_alternative<Sent>(outcome));
    return std::holds_alternative<Sent>(outcome) ? std::get<Sent>(outcome).run : model::Run{};
  }
  dispatch::DispatchListener* worker_of(Node& where) {
    return where.dispatcher.jobs.empty() ? nullptr : where.dispatcher.jobs.back()->listener;
  }
  void says(Node& where, const std::string& text, model::EventKind kind = model::EventKind::text) {
    if (auto* worker = worker_of(where)) worker->on_event({kind, loop.now(), text});
    loop.settle();
  }
  void finishes(Node& where) {
    if (auto* worker = worker_of(where)) worker->on_finished({3, 4});
    loop.settle();
  }

  struct Seat {
    RememberingReader reader;
    std::unique_ptr<Reading> reading;
  };
  std::unique_ptr<Seat> read_on(Node& where, const model::Run& run) {
    auto seat = std::make_unique<Seat>();
    seat->reading = where.engine->read(run, {.format = wire::Format::ndjson, .after = -1}, seat->reader);
    loop.settle();
    return seat;
  }
  // As a reader gets it that comes when all is over.
  std::string told_at_the_end(Node& where, const model::Run& run) { return read_on(where, run)->reader.text; }

  std::vector<std::unique_ptr<Node>> nodes;
};

// Each line's seq is one more than that of the line before.
inline bool is_one_story(const std::string& text) {
  const std::regex seq(R"re("seq":(\d+))re");
  int64_t expected = 0;
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
    const auto line = text.substr(at, text.find('\n', at) - at);
    std::smatch found;
    if (!std::regex_search(line, found, seq) || std::stoll(found[1]) != expected++) return false;
  }
  return expected > 0;
}

}  // namespace sluice::engine
