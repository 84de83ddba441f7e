#include "engine/engine_fixture.h"

namespace sluice::engine {
namespace recovery_test {

using model::RunState;
using model::Slug;

TEST_F(EngineTest, A_run_that_told_nothing_is_asked_anew_after_a_restart) {
  const auto run = send_ok(message("hello"));
  restart_server();
  ASSERT_EQ(dispatcher.working(), 1);
  EXPECT_TRUE(dispatcher.jobs.back()->dispatch.resumed);
  EXPECT_EQ(dispatcher.jobs.back()->dispatch.prompt, "hello");
  agent_says("Hi.");
  agent_finishes();
  EXPECT_EQ(count_lines(read_all(run)), 3);
}

TEST_F(EngineTest, A_run_goes_on_right_after_what_was_told_where_the_agent_can) {
  dispatcher.resumable = true;
  const auto run = send_ok(message("hello"));
  agent_says("One ");
  agent_says("two ");
  const auto before = read_all(run);
  restart_server();
  EXPECT_EQ(dispatcher.jobs.back()->dispatch.told_text, "One two ");
  agent_says("three.");
  agent_finishes();
  EXPECT_TRUE(read_all(run).starts_with(before));
  EXPECT_NE(stored_message(run.message_id).find(R"("content":"One two three.")"), std::string::npos);
}

constexpr const char* a_step = R"({"id":"s","name":"bash","status":"running","args":{}})";

TEST_F(EngineTest, I_8_What_is_done_is_on_disk_before_and_is_not_done_again_after_a_restart) {
  dispatcher.resumable = true;
  const auto run = send_ok(message("hello"));
  agent_says("I look.");
  bool is_seen = false;
  const auto& job = *dispatcher.jobs.back();
  for (int n = 0; n < 3; ++n) disk.fail_write(n, store::Fault::full);
  job.listener->on_event({model::EventKind::step, loop.now(), a_step});
  job.dispatch.witness->see([&] { is_seen = true; });
  loop.settle();
  EXPECT_FALSE(is_seen) << "the disk is full";
  loop.advance({10'000});
  EXPECT_TRUE(is_seen);
  restart_server();
  EXPECT_EQ(stored_run(run).state, RunState::failed);
  EXPECT_NE(read_all(run).find("run-interrupted"), std::string::npos);
  EXPECT_EQ(dispatcher.working(), 0);
}

TEST_F(EngineTest, What_was_not_seen_before_a_restart_is_never_seen) {
  dispatcher.resumable = true;
  send_ok(message("hello"));
  bool is_seen = false;
  const auto job = dispatcher.jobs.back();
  disk.fail_write(0, store::Fault::full);
  job->listener->on_event({model::EventKind::step, loop.now(), a_step});
  job->dispatch.witness->see([&] { is_seen = true; });
  loop.settle();
  stop_server();
  job->dispatch.witness->see([&] { is_seen = true; });
  start_server();
  loop.advance({60'000});
  EXPECT_FALSE(is_seen);
  ASSERT_EQ(dispatcher.working(), 1) << "nothing was done, so somebody does it";
}

TEST_F(EngineTest, A_program_that_was_about_to_start_is_not_started_again_after_a_restart) {
  const auto run = send_ok(message("hello"));
  agent_says(R"({"level":"info","text":"t","phase":"launch","durationMs":0})", model::EventKind::log);
  restart_server();
  EXPECT_EQ(stored_run(run).state, RunState::failed);
  EXPECT_NE(read_all(run).find("run-interrupted"), std::string::npos);
}

TEST_F(EngineTest, A_run_that_cannot_go_on_fails_as_interrupted_and_frees_its_conversation) {
  const auto run = send_ok(message("hello"));
  agent_says("Half");
  restart_server();
  const auto text = read_all(run);
  EXPECT_NE(text.find("run-interrupted"), std::string::npos);
  EXPECT_NE(text.find("req_test"), std::string::npos) << "the problem names the request that started the run";
  EXPECT_EQ(stored_run(run).state, RunState::failed);
  send_ok(message("usable at once"));
}

TEST_F(EngineTest, Recovering_twice_is_recovering_once) {
  dispatcher.resumable = true;
  const auto run = send_ok(message("hello"));
  agent_says("Half");
  restart_server();
  restart_server();
  bool again = false;
  engine->recover([&](Result<Unit> done) { again = bool(done); });
  loop.settle();
  EXPECT_TRUE(again);
  EXPECT_EQ(dispatcher.working(), 1);
  agent_says(" and half.");
  agent_finishes();
  EXPECT_EQ(count_lines(read_all(run)), 4);
}

TEST_F(EngineTest, A_writer_that_was_fenced_out_falls_silent) {
  const auto run = send_ok(message("hello"));
  RememberingReader ana;
  const auto reading = engine->read(run, {.format = wire::Format::ndjson, .after = -1}, ana);
  loop.settle();
  store->take_over(run.id, stored_run(run).epoch, [](Result<model::Run> taken) { ASSERT_TRUE(taken); });
  loop.settle();
  agent_says("a ghost speaks");
  EXPECT_EQ(count_lines(ana.text), 1);
  EXPECT_NE(ana.lost, "");
  EXPECT_EQ(dispatcher.working(), 0);
}

TEST_F(EngineTest, A_full_disk_delays_a_run_and_loses_nothing) {
  const auto run = send_ok(message("hello"));
  for (int n = 0; n < 3; ++n) disk.fail_write(n, store::Fault::full);
  agent_says("patience");
  EXPECT_EQ(count_lines(read_all(run)), 1);
  loop.advance({10'000});
  agent_finishes();
  loop.advance({10'000});
  EXPECT_EQ(count_lines(read_all(run)), 3);
}

TEST_F(EngineTest, A_message_that_meets_a_full_disk_is_refused_and_leaves_no_trace) {
  disk.fail_write(0, store::Fault::full);
  EXPECT_EQ(send_refused(message("hello")), Slug::unavailable);
  EXPECT_EQ(dispatcher.working(), 0);
  send_ok(message("hello again"));
}

// I-8: the journal says what became of the write, whatever the answer was.
TEST_F(EngineTest, A_write_of_unknown_outcome_is_delivered_once_and_stops_neither_reader_nor_agent) {
  for (const auto fault : {store::Fault::before_write, store::Fault::after_write, store::Fault::collides}) {
    SCOPED_TRACE(static_cast<int>(fault));
    const auto run = send_ok(message("hello"));
    const auto jobs = dispatcher.jobs.size();
    RememberingReader ana;
    const auto reading = engine->read(run, {.format = wire::Format::ndjson, .after = -1}, ana);
    loop.settle();
    agent_says(a_step, model::EventKind::step);
    disk.fail_write(0, fault);
    agent_says("uncertain ");
    agent_says("no ");
    loop.advance({1'000});
    EXPECT_EQ(dispatcher.jobs.size(), jobs) << "the work need not notice";
    EXPECT_EQ(dispatcher.working(), 1);
    agent_says("more");
    agent_finishes();
    EXPECT_EQ(ana.lost, "");
    EXPECT_TRUE(ana.ended);
    EXPECT_EQ(ana.text, read_all(run));
    EXPECT_EQ(stored_run(run).state, RunState::completed);
    EXPECT_NE(stored_message(run.message_id).find(R"("content":"uncertain no more")"), std::string::npos);
  }
}

TEST_F(EngineTest, A_write_of_unknown_outcome_stops_no_agent_of_other_runs) {
  const auto bystander = send_ok(message("hello"));
  agent_says(a_step, model::EventKind::step);
  const auto in_doubt = send_ok(message_in(make_conversation(), "hello"));
  disk.fail_write(0, store::Fault::after_write);
  agent_says("uncertain");
  loop.advance({1'000});
  EXPECT_EQ(dispatcher.jobs.size(), 2U);
  EXPECT_EQ(dispatcher.working(), 2);
  for (const auto& job : dispatcher.jobs) job->listener->on_finished({3, 4});
  loop.advance({1'000});
  EXPECT_EQ(stored_run(bystander).state, RunState::completed);
  EXPECT_EQ(stored_run(in_doubt).state, RunState::completed);
  EXPECT_EQ(stored_run(bystander).epoch, model::Epoch{1});
}

TEST_F(EngineTest, A_store_that_says_nothing_for_a_minute_ends_the_work_on_its_runs) {
  const auto run = send_ok(message("hello"));
  disk.hold_answers(true);
  engine->store_fell_silent({ErrorKind::unavailable, "the disk is gone"});
  loop.advance({59'000});
  EXPECT_EQ(dispatcher.working(), 1);
  loop.advance({2'000});
  EXPECT_EQ(dispatcher.working(), 0);
  disk.hold_answers(false);
  loop.advance({10'000});
  EXPECT_EQ(dispatcher.working(), 1) << "it is taken up as after a restart";
  agent_finishes();
  EXPECT_EQ(stored_run(run).state, RunState::completed);
}

TEST_F(EngineTest, A_list_of_runs_that_is_refused_for_a_moment_is_asked_for_again) {
  const auto run = send_ok(message("hello"));
  stop_server();
  disk.refuse_lists(5);
  store = std::make_unique<store::SimulatedStore>(disk, loop);
  engine = make_engine({*store, dispatcher, loop, ids, log, metrics, sealer, material_source, &noticed}, options);
  bool recovered = false;
  engine->recover([&](const Result<Unit>& done) { recovered = bool(done); });
  loop.advance({10'000});
  EXPECT_TRUE(recovered);
  ASSERT_EQ(dispatcher.working(), 1);
  agent_finishes();
  EXPECT_EQ(stored_run(run).state, RunState::completed);
}

// ── runs that are on disk, and that nothing attends to ──

journal::NewRun a_run_of(const model::Tenant& tenant, model::ConversationId conversation, world::IdSource& ids) {
  journal::NewRun made;
  made.user_message = {.id = ids.make<model::MessageId>(), .conversation_id = conversation, .content = "hello"};
  made.assistant_message = {.id = ids.make<model::MessageId>(), .conversation_id = conversation};
  made.assistant_message.role = model::Role::assistant;
  made.assistant_message.status = model::MessageStatus::in_progress;
  made.run = {.id = ids.make<model::RunId>(), .tenant_id = tenant.id, .conversation_id = conversation};
  made.run.user_message_id = made.user_message.id;
  made.run.message_id = made.assistant_message.id;
  made.run.state = RunState::streaming;
  made.events = {{model::EventKind::accepted, {1}, R"({"request_id":"req_test"})"},
                 {model::EventKind::started, {1}, ""}};
  return made;
}

TEST_F(EngineTest, A_run_that_becomes_visible_after_recovery_has_looked_is_taken_up_within_seconds) {
  const auto late = a_run_of(tenant, conversation, ids);
  store->accept(late, [](const Result<journal::AcceptOutcome>& made) { ASSERT_TRUE(made); });
  loop.settle();
  EXPECT_EQ(send_refused(message("hello")), Slug::conversation_busy);
  loop.advance({10'000});
  ASSERT_EQ(dispatcher.working(), 1);
  EXPECT_EQ(metrics.counter("sluice_runs_unattended_total", "").value(), 1U);
  agent_finishes();
  EXPECT_EQ(stored_run(late.run).state, RunState::completed);
  loop.advance({10'000});
  EXPECT_EQ(metrics.gauge("sluice_runs_unattended", "").value(), 0);
  send_ok(message("usable again"));
}

TEST_F(EngineTest, A_run_that_is_being_accepted_is_not_mistaken_for_one_that_nothing_attends_to) {
  disk.hold_answers(true);
  std::optional<model::Run> run;
  engine->send(message("hello"), [&](SendOutcome outcome) { run = std::get<Sent>(outcome).run; });
  loop.advance({20'000});
  disk.hold_answers(false);
  loop.advance({20'000});
  ASSERT_TRUE(run);
  EXPECT_EQ(stored_run(*run).epoch, model::Epoch{1});
  EXPECT_EQ(dispatcher.jobs.size(), 1U);
  EXPECT_EQ(metrics.counter("sluice_runs_unattended_total", "").value(), 0U);
}

TEST_F(EngineTest, A_run_that_cannot_be_taken_up_is_counted_and_not_tried_at_every_look) {
  auto late = a_run_of(tenant, conversation, ids);
  store->accept(late, [](const Result<journal::AcceptOutcome>& made) { ASSERT_TRUE(made); });
  const int before = disk.write_count();
  for (int n = 0; n < 1'000; ++n) disk.fail_write(n, store::Fault::collides);
  loop.advance({120'000});
  EXPECT_EQ(metrics.gauge("sluice_runs_unattended", "").value(), 1);
  EXPECT_EQ(metrics.counter("sluice_runs_unattended_total", "").value(), 1U);
  EXPECT_LT(disk.write_count() - before, 10);
}

TEST_F(EngineTest, An_acceptance_of_unknown_outcome_is_taken_up_if_it_was_written) {
  disk.fail_write(0, store::Fault::after_write);
  auto what = message("hello");
  what.idempotency = journal::Idempotency{ids.make<model::ServiceKeyId>(), "createMessage", "k", "hash"};
  EXPECT_EQ(send_refused(what), Slug::unavailable);
  loop.advance({1'000});
  auto outcome = send(what);
  ASSERT_TRUE(std::holds_alternative<Sent>(outcome));
  EXPECT_TRUE(std::get<Sent>(outcome).replayed) << "I-19: the same key never makes a second run";
  agent_says("Hi.");
  agent_finishes();
  EXPECT_EQ(count_lines(read_all(std::get<Sent>(outcome).run)), 3);
}

TEST_F(EngineTest, A_cancel_that_a_crash_interrupted_is_completed_by_the_next_server) {
  const auto run = send_ok(message("hello"));
  disk.hold_answers(true);
  engine->cancel(tenant.id, run.id, [](std::variant<model::Run, model::Problem>) {});
  loop.settle();
  disk.hold_answers(false);
  restart_server();
  if (!model::is_over(stored_run(run).state)) {
    engine->cancel(tenant.id, run.id, [](std::variant<model::Run, model::Problem>) {});
    loop.settle();
  }
  EXPECT_EQ(stored_run(run).state, RunState::cancelled);
}

TEST_F(EngineTest, A_full_disk_at_recovery_delays_it_and_strands_no_run) {
  const auto run = send_ok(message("hello"));
  disk.fail_write(0, store::Fault::before_write);
  agent_says("uncertain ");
  for (int n = 0; n < 4; ++n) disk.fail_write(n, store::Fault::full);
  loop.advance({10'000});
  ASSERT_EQ(dispatcher.working(), 1) << "the run was taken up when there was room again";
  agent_says("again");
  agent_finishes();
  loop.advance({10'000});
  EXPECT_EQ(stored_run(run).state, RunState::completed);
}

TEST_F(EngineTest, A_store_that_others_found_silent_is_reopened_too) {
  dispatcher.resumable = true;
  const auto run = send_ok(message("hello"));
  agent_says("before ");
  disk.fail_write(0, store::Fault::after_write);
  store::append_audit(store->database(), {{.action = "tenant.updated"}}, [&](Result<Unit> kept) {
    ASSERT_FALSE(kept);
    engine->store_fell_silent(kept.error());
  });
  loop.advance({1'000});
  ASSERT_EQ(dispatcher.working(), 1);
  agent_says("after");
  agent_finishes();
  EXPECT_NE(stored_message(run.message_id).find(R"("content":"before after")"), std::string::npos);
}

TEST_F(EngineTest, The_store_is_reopened_after_a_record_write_of_unknown_outcome_although_nobody_else_writes) {
  dispatcher.resumable = true;
  const auto run = send_ok(message("hello"));
  agent_says("before ");
  const auto keep_record = [&] {
    auto kept = ErrorKind::invalid;
    bool is_kept = false;
    store::append_audit(store->database(), {{.action = "tenant.updated"}}, [&](const Result<Unit>& answer) {
      is_kept = bool(answer);
      if (!answer) kept = answer.error().kind;
    });
    loop.settle();
    return is_kept ? std::nullopt : std::optional(kept);
  };
  disk.fail_write(0, store::Fault::before_write);
  EXPECT_EQ(keep_record(), ErrorKind::unavailable);
  EXPECT_TRUE(store->needs_reopening());
  loop.advance({2'000});
  EXPECT_FALSE(store->needs_reopening());
  EXPECT_EQ(keep_record(), std::nullopt);
  ASSERT_EQ(dispatcher.working(), 1) << "the run goes on";
  agent_says("after");
  agent_finishes();
  EXPECT_NE(stored_message(run.message_id).find(R"("content":"before after")"), std::string::npos);
}

TEST_F(EngineTest, A_full_disk_is_no_reason_to_reopen_the_store) {
  send_ok(message("hello"));
  disk.fail_write(0, store::Fault::full);
  store::append_audit(store->database(), {{.action = "tenant.updated"}}, [](const Result<Unit>&) {});
  loop.settle();
  EXPECT_TRUE(store->broken());
  EXPECT_FALSE(store->needs_reopening());
  loop.advance({2'000});
  EXPECT_TRUE(
      std::ranges::none_of(log.lines, [](const auto& line) { return line.find("fell silent") != std::string::npos; }));
}

TEST_F(EngineTest, I_19_a_key_whose_run_is_damaged_is_answered_with_a_problem) {
  auto known = message("one");
  known.idempotency = journal::Idempotency{ids.make<model::ServiceKeyId>(), "createMessage", "k", "sha"};
  send_ok(known);
  agent_finishes();
  for (const char* damage : {"UPDATE runs SET state = 'nonsense'", "DELETE FROM runs"}) {
    SCOPED_TRACE(damage);
    store::SimulatedServer(disk, loop, {}).connection()->run(damage);
    EXPECT_EQ(send_refused(known), model::Slug::internal);
  }
  EXPECT_EQ(dispatcher.jobs.size(), 1U);
  EXPECT_EQ(engine->capacity().running, 0);
}

// Says nothing of the next write, and then has no room for a while.
struct FullDisk final : store::DatabaseWatch {
  std::optional<store::Fault> on_write(model::NodeId) override {
    if (std::exchange(is_silent, false)) return store::Fault::before_write;
    return is_full ? std::optional(store::Fault::full) : std::nullopt;
  }
  bool reaches(model::NodeId) override { return true; }
  int news_copies(model::NodeId) override { return 1; }
  void on_moved(model::NodeId, const model::Run&) override {}
  bool is_silent = true, is_full = true;
};

TEST_F(EngineTest, A_run_waits_for_room_on_the_disk_also_after_a_write_of_unknown_outcome) {
  const auto run = send_ok(message("hello"));
  FullDisk watch;
  disk.be_watched(&watch);
  agent_says("One ");
  loop.advance({90'000});
  ASSERT_EQ(dispatcher.working(), 1);
  watch.is_full = false;
  loop.advance({10'000});
  agent_says("two.");
  agent_finishes();
  disk.be_watched(nullptr);
  EXPECT_NE(stored_message(run.message_id).find(R"("content":"One two.")"), std::string::npos);
}

TEST_F(EngineTest, A_store_that_stays_silent_is_tried_with_growing_patience) {
  send_ok(message("hello"));
  for (int n = 0; n < 1'000; ++n) disk.fail_write(n, store::Fault::before_write);
  const int before = disk.write_count();
  agent_says("no one hears");
  loop.advance({60'000});
  EXPECT_LT(disk.write_count() - before, 60);
  EXPECT_GT(disk.write_count() - before, 10);
}

TEST_F(EngineTest, The_log_says_how_a_run_ended_and_whose_it_was) {
  const auto run = send_ok(message("hello"));
  model::Problem problem;
  problem.slug = Slug::model_timeout;
  dispatcher.jobs.back()->listener->on_failed(problem);
  loop.settle();
  EXPECT_EQ(log.lines.back(), "info run ended run=" + run.id.text() + " state=failed problem=model-timeout tenant=" +
                                  tenant.id.text() + " request_id=req_test");
}

TEST_F(EngineTest, The_wall_clock_may_jump_without_harm) {
  const auto run = send_ok(message("hello"));
  agent_says("before ");
  loop.jump_wall_clock({-3'600'000});
  agent_says("after ");
  loop.jump_wall_clock({7'200'000});
  agent_finishes();
  EXPECT_EQ(count_lines(read_all(run)), 4);
  send_ok(message("next"));
}

// The times of a stream's lines, in their order.
std::vector<std::string> times_of(const std::string& text) {
  constexpr std::string_view mark = R"("created_at":")";
  std::vector<std::string> found;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', end + 1)) {
    found.push_back(text.substr(text.rfind(mark, end) + mark.size(), 24));
  }
  return found;
}

TEST_F(EngineTest, In_a_stream_time_does_not_run_backwards_whatever_the_wall_clock_does) {
  dispatcher.resumable = true;
  const auto run = send_ok(message("hello"));
  loop.jump_wall_clock({3'600'000});
  agent_says("before ");
  loop.jump_wall_clock({-7'200'000});
  agent_says("after ");
  restart_server();
  agent_says("and later");
  agent_finishes();
  const auto times = times_of(read_all(run));
  ASSERT_EQ(times.size(), 5U);
  EXPECT_TRUE(std::ranges::is_sorted(times));
  EXPECT_LT(times.front(), times.back());
}

}  // namespace recovery_test
}  // namespace sluice::engine
