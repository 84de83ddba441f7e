// The lifecycle table and the program agree: each row is taken by a story that the engine plays from end to end, and no
// story takes a step that is not a row.
#include <set>

#include "engine/gate_fixture.h"
#include "engine/run_lifecycle.h"

namespace sluice::engine {
namespace lifecycle_test {

class LifecycleTest : public GateTest {
 protected:
  LifecycleTest() {
    options.max_running = 1;
    dispatcher.proves_at_once = false;
    restart_server();
  }

  static std::string name_of_row(const Row& row) {
    return "from=" + std::string(model::name_of(row.from)) + " when=" + std::string(name_of(row.when)) +
           " to=" + std::string(model::name_of(row.to));
  }
  static std::set<std::string> rows_of_table() {
    std::set<std::string> rows;
    for (const auto& row : table::rows) rows.insert(name_of_row(row));
    return rows;
  }
  // The rows that were taken so far, as the engine's log has them.
  std::set<std::string> rows_taken() const {
    std::set<std::string> rows;
    for (const auto& line : log.lines) {
      if (line.find("run stepped") != std::string::npos) rows.insert(line.substr(line.find("from=")));
    }
    return rows;
  }

  model::Run begin() { return send_ok(message_in(make_conversation(), "work")); }
  model::Run begin_sticky() { return send_ok(message_in(make_conversation(sticky(1)), "work")); }
  model::Run begin_held() {
    auto held = message_in(make_conversation(), "wait");
    held.hold = true;
    return send_ok(std::move(held));
  }
  void fail() {
    agent_at_work().on_failed({.detail = "It broke."});
    loop.settle();
  }
  void prove_stopped() {
    dispatcher.prove_gone();
    loop.settle();
  }
  void change_database(const char* sql) {
    stop_server();
    store::SimulatedServer(disk, loop, {}).connection()->run(sql);
    start_server();
  }

  // ── the stories ──
  void play_held_runs() {
    begin();
    begin_held();
    agent_finishes();  // the held run's turn
    cancel(begin_held());
    begin_held();
    loop.advance({200'000});
    begin_held();
    restart_server();
    change_database("UPDATE messages SET json = 'damaged' WHERE run IS NULL");
  }
  void play_gates() {
    for (const bool approve : {true, false}) {
      begin();
      agent_asks();
      decide(decision(approve));
      if (approve) agent_finishes();
    }
    begin();
    agent_asks(60);
    restart_server();
    loop.advance({61'000});
    begin_sticky();
    agent_asks();
    fail();
    loop.advance({2'000});  // its slot was its conversation's
    const auto run = begin();
    agent_asks();
    cancel(run);
  }
  void play_ends() {
    begin();
    fail();
    begin();
    restart_server();
    agent_finishes();
  }
  void play_cancels() {
    const auto run = begin();
    auto& agent = agent_at_work();
    cancel(run);
    cancel(run);
    agent.on_finished({});
    agent.on_failed({.detail = "It was stopped."});
    loop.settle();
    EXPECT_EQ(stored_run(run).state, RunState::finishing) << "its end waits for the proof that its work has stopped";
    prove_stopped();
    EXPECT_EQ(stored_run(run).state, RunState::cancelled);
    const auto other = begin();
    cancel(other);
    restart_server();
    EXPECT_EQ(stored_run(other).state, RunState::cancelled);
  }
};

TEST_F(LifecycleTest, every_row_of_the_lifecycle_table_is_taken_by_a_story_and_no_other_step_is) {
  play_held_runs();
  play_gates();
  play_ends();
  play_cancels();
  EXPECT_EQ(rows_taken(), rows_of_table());
  EXPECT_EQ(engine->capacity().running, 0);
}

TEST_F(LifecycleTest, a_run_in_a_state_that_no_program_stores_is_left_alone_and_named_in_the_log) {
  for (const char* sql : {"UPDATE runs SET state = 'accepted'", "UPDATE runs SET state = 'starting'"}) {
    SCOPED_TRACE(sql);
    log.lines.clear();
    begin();
    change_database(sql);
    EXPECT_EQ(engine->capacity().running, 0);
    EXPECT_TRUE(std::ranges::any_of(
        log.lines, [](const auto& line) { return line.find("no run is ever stored in its state") != line.npos; }));
  }
}

}  // namespace lifecycle_test
}  // namespace sluice::engine
