// What servers that share a store are to each other (I-9: one writer a run, whoever thinks to be it).
#include <algorithm>

#include "store/lone_nodes.h"
#include "store/store_contract.h"

namespace sluice::store {
namespace nodes_contract_test {

struct HeardNews final : NodeNews {
  void on_moved(model::RunId run) override { moved.push_back(run); }
  void on_mail() override { ++mail; }
  void on_held() override { ++held; }
  void on_unsure() override { ++unsure; }
  std::vector<model::RunId> moved;
  int mail = 0;
  int held = 0;
  int unsure = 0;
};

// Two servers on one store. Questions go to the one that is in use.
class NodesContract : public StoreTeller, public testing::TestWithParam<Backend> {
 public:
  NodesContract() {
    for (auto& id : ids) id = make_id<model::NodeId>();
    if (GetParam() == Backend::postgres) empty(contract_database());
    store_ = open(ids[0]);
    other_ = open(ids[1]);
  }
  ~NodesContract() override {
    store_.reset();
    other_.reset();
  }
  void use(int which) {
    if (which != used_) std::swap(store_, other_);
    used_ = which;
  }
  std::vector<SeenNode> beat(int which, NodeFigures figures = {}, int64_t forget_ms = 60'000) {
    use(which);
    return get(&Nodes::beat, std::move(figures), forget_ms);
  }
  void listen(int which, HeardNews& news) {
    use(which);
    store().nodes().tell(&news);
  }
  // Until the others have heard of it: by mail that is sent after it, which they hear of after it.
  void follow(int which, model::RunId run) {
    HeardNews news;
    listen(1 - which, news);
    use(which);
    store().nodes().follow({run});
    get(&Nodes::post, a_letter(std::nullopt, ids[static_cast<std::size_t>(1 - which)]));
    EXPECT_TRUE(loop_.run_until([&] { return news.mail > 0; }));
    use(1 - which);
    store().nodes().tell(nullptr);
  }
  // Both know of each other from here on.
  void meet() {
    for (const int which : {0, 1, 0}) beat(which);
  }
  Mail a_letter(std::optional<model::RunId> run, std::optional<model::NodeId> to, std::string body = "{}") {
    return {make_id<model::MailId>(), {}, run, to, "cancel", std::move(body)};
  }
  static HeldRun waiting(const model::Run& run) { return {run.id, run.epoch}; }
  Accepted held_run(model::TenantId tenant, Timestamp at = {6000}) {
    auto made = a_run(tenant, make_conversation(tenant).id, at);
    made.run.state = model::RunState::held;
    return accepted(std::move(made));
  }

  std::array<model::NodeId, 2> ids;

 protected:
  std::unique_ptr<Store> open(model::NodeId node) {
    if (GetParam() == Backend::simulated) return std::make_unique<SimulatedStore>(disk_, loop_, node);
    auto opened = open_postgres({.url = contract_database().url(), .node = node}, loop_, metrics_);
    if (!opened) check_failed(opened.error().what.c_str(), __FILE__, __LINE__);
    return std::move(opened).take();
  }

  SimulatedDatabase disk_;
  world::Metrics metrics_;
  std::unique_ptr<Store> other_;
  int used_ = 0;
};

INSTANTIATE_TEST_SUITE_P(, NodesContract, testing::Values(Backend::simulated, Backend::postgres), name_of_backend);

TEST_P(NodesContract, Whoever_beats_is_in_the_list_with_what_it_said_last) {
  EXPECT_EQ(beat(0, {.name = "one", .slots = 3}).size(), 1U);
  const NodeFigures said{"two", "1.0", true, 8, 7, 6, 5, 4, 3, 2};
  beat(1, said);
  const auto seen = beat(0, {.name = "one", .slots = 4});
  ASSERT_EQ(seen.size(), 2U);
  for (const auto& node : seen) {
    EXPECT_GE(node.silent_ms, 0);
    EXPECT_LT(node.silent_ms, 10'000);
    if (node.id == ids[1]) {
      EXPECT_EQ(node.figures, said);
    } else {
      EXPECT_EQ(node.id, ids[0]);
      EXPECT_EQ(node.figures.slots, 4);
    }
  }
}

TEST_P(NodesContract, Whoever_leaves_is_out_of_the_list_at_once) {
  meet();
  use(1);
  get(&Nodes::leave);
  EXPECT_EQ(beat(0).size(), 1U);
}

TEST_P(NodesContract, Whoever_is_silent_too_long_is_forgotten_unless_it_carries_a_run) {
  constexpr int64_t at_once = -1;  // any silence is longer
  const auto tenant = make_tenant();
  accepted(tenant, make_conversation(tenant).id);  // keeps the first one in the list
  use(1);
  const auto carried = accepted(tenant, make_conversation(tenant).id);
  beat(1);
  EXPECT_EQ(beat(0, {}, at_once).size(), 2U);
  use(1);
  get(&journal::Journal::append, the_end(carried));
  EXPECT_EQ(beat(0, {}, 60'000).size(), 2U);
  const auto left = beat(0, {}, at_once);
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0].id, ids[0]);
}

TEST_P(NodesContract, A_run_whose_node_is_not_in_the_list_is_among_those_that_each_node_looks_after) {
  meet();
  const auto tenant = make_tenant();
  use(0);
  const auto run = accepted(a_run(tenant, make_conversation(tenant).id)).run.id;
  use(1);
  const auto mine = accepted(a_run(tenant, make_conversation(tenant).id)).run.id;
  EXPECT_EQ(get(&journal::Journal::carried_runs), std::vector{mine});
  use(0);
  get(&Nodes::leave);
  use(1);
  EXPECT_EQ(get(&journal::Journal::carried_runs), (std::vector{run, mine}));
}

TEST_P(NodesContract, What_the_first_says_is_agreed_by_all) {
  EXPECT_EQ(get(&Nodes::agree, "key", "abc"), "abc");
  use(1);
  EXPECT_EQ(get(&Nodes::agree, "key", "xyz"), "abc");
  EXPECT_EQ(get(&Nodes::agree, "other", "xyz"), "xyz");
}

TEST_P(NodesContract, What_is_agreed_is_changed_by_nobody_but_a_node_that_is_alone) {
  get(&Nodes::agree, "key", "abc");
  beat(1);
  beat(0);
  EXPECT_EQ(get(&Nodes::agree, "key", "xyz"), "abc") << "the other one lives";
  use(1);
  get(&Nodes::leave);
  EXPECT_EQ(get(&Nodes::agree, "key", "xyz"), "abc") << "who has not beaten is not alone";
  use(0);
  EXPECT_EQ(get(&Nodes::agree, "key", "xyz"), "xyz");
  beat(1);
  EXPECT_EQ(get(&Nodes::agree, "key", "abc"), "xyz");
}

TEST_P(NodesContract, Mail_goes_to_the_node_that_is_named_and_its_answer_comes_back_once) {
  const auto letter = a_letter(std::nullopt, ids[1], R"({"tenant":"t"})");
  get(&Nodes::post, letter);
  EXPECT_TRUE(get(&Nodes::inbox).empty());
  use(1);
  for (int again = 0; again < 2; ++again) {
    const auto box = get(&Nodes::inbox);
    ASSERT_EQ(box.size(), 1U);
    EXPECT_EQ(box[0].id, letter.id);
    EXPECT_EQ(box[0].from, ids[0]);
    EXPECT_EQ(box[0].to, ids[1]);
    EXPECT_FALSE(box[0].run);
    EXPECT_EQ(box[0].kind, "cancel");
    EXPECT_EQ(box[0].body, letter.body);
  }
  get(&Nodes::answer, letter.id, "done");
  get(&Nodes::answer, letter.id, "too late");
  EXPECT_TRUE(get(&Nodes::inbox).empty());
  use(0);
  const auto answers = get(&Nodes::answers);
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].id, letter.id);
  EXPECT_EQ(answers[0].body, "done");
  EXPECT_TRUE(get(&Nodes::answers).empty());
}

TEST_P(NodesContract, Mail_for_a_run_goes_to_whoever_carries_it_now) {
  const auto tenant = make_tenant();
  const auto run = accepted(tenant, make_conversation(tenant).id).run;
  EXPECT_EQ(run.node, ids[0]);
  use(1);
  get(&Nodes::post, a_letter(run.id, std::nullopt));
  EXPECT_TRUE(get(&Nodes::inbox).empty());
  use(0);
  EXPECT_EQ(get(&Nodes::inbox).size(), 1U);
  use(1);
  EXPECT_EQ(get(&journal::Journal::take_over, run.id, run.epoch).node, ids[1]);
  EXPECT_EQ(get(&Nodes::inbox).size(), 1U);
  use(0);
  EXPECT_TRUE(get(&Nodes::inbox).empty());
}

TEST_P(NodesContract, Whoever_withdraws_is_not_answered) {
  const auto letter = a_letter(std::nullopt, ids[1]);
  get(&Nodes::post, letter);
  get(&Nodes::withdraw, letter.id);
  use(1);
  EXPECT_TRUE(get(&Nodes::inbox).empty());
  EXPECT_EQ(refused(&Nodes::answer, letter.id, "done"), ErrorKind::not_found);
}

TEST_P(NodesContract, Each_held_run_is_claimed_by_one_and_whoever_had_it_is_fenced_out) {
  const auto tenant = make_tenant();
  std::vector<model::Run> held;
  for (int i = 0; i < 4; ++i) held.push_back(held_run(tenant).run);
  const auto working = accepted(tenant, make_conversation(tenant).id).run;
  EXPECT_TRUE(get(&Nodes::held_elsewhere).empty()) << "those are its own";
  EXPECT_TRUE(get(&Nodes::claim, std::vector{waiting(held[0])}).empty()) << "and it has them already";
  use(1);
  const auto listed = get(&Nodes::held_elsewhere);
  ASSERT_EQ(listed.size(), 1U);
  EXPECT_EQ(listed[0].tenant, tenant);
  EXPECT_EQ(listed[0].count, 4);
  EXPECT_EQ(listed[0].oldest, (std::vector{waiting(held[0]), waiting(held[1]), waiting(held[2]), waiting(held[3])}));
  const auto first = get(&Nodes::claim, std::vector{waiting(working), waiting(held[1]), waiting(held[0])});
  ASSERT_EQ(first.size(), 2U) << "one that is at work is not claimed";
  EXPECT_EQ(first[0].id, held[0].id);
  EXPECT_EQ(first[0].node, ids[1]);
  EXPECT_EQ(first[0].epoch.value, 2U);
  EXPECT_EQ(first[0].head, held[0].head);
  // Several claims at once do not give the same run twice.
  std::vector<model::RunId> claimed;
  int asked = 3;
  for (int i = 0; i < 3; ++i) {
    store().nodes().claim({waiting(held[2]), waiting(held[3])}, [&](Result<std::vector<model::Run>> runs) {
      --asked;
      ASSERT_TRUE(runs);
      for (const auto& run : runs.value()) claimed.push_back(run.id);
    });
  }
  ASSERT_TRUE(loop_.run_until([&] { return asked == 0; }));
  EXPECT_EQ(claimed, (std::vector{held[2].id, held[3].id}));
  EXPECT_TRUE(get(&Nodes::held_elsewhere).empty());
  use(0);
  EXPECT_TRUE(get(&Nodes::claim, std::vector{waiting(held[0])}).empty()) << "it has moved since";
  Append late{.run = held[0].id, .epoch = held[0].epoch, .head = held[0].head};
  late.events = {{model::EventKind::text, {7000}, "late"}};
  EXPECT_EQ(refused(&journal::Journal::append, late), ErrorKind::conflict);
}

TEST_P(NodesContract, A_run_that_has_moved_moves_again_only_from_a_node_that_cannot_begin_it) {
  const auto tenant = make_tenant();
  const auto run = held_run(tenant).run;
  meet();
  use(1);
  auto mine = get(&Nodes::claim, std::vector{waiting(run)}).at(0);
  const auto may_move = [&](NodeFigures holder) {
    beat(1, std::move(holder));
    use(0);
    return !get(&Nodes::held_elsewhere).empty();
  };
  EXPECT_FALSE(may_move({.slots = 2, .free_slots = 1, .held = 1}));
  EXPECT_FALSE(may_move({.slots = 2, .free_slots = 0, .held = 0})) << "it has a slot and is about to begin";
  EXPECT_TRUE(may_move({.slots = 2, .free_slots = 0, .held = 1}));
  mine = get(&Nodes::claim, std::vector{waiting(mine)}).at(0);
  EXPECT_EQ(mine.node, ids[0]);
  EXPECT_EQ(mine.epoch.value, 3U);
}

TEST_P(NodesContract, A_run_that_has_moved_moves_on_from_a_node_where_its_tenant_is_at_its_limit) {
  const auto tenant = make_tenant();
  TenantPatch patch;
  patch.limits = model::TenantLimits{.weight = 7, .max_running = 2};
  get(&store::update_tenant, tenant, patch, Timestamp{5000});
  const auto run = held_run(tenant).run;
  meet();
  use(1);
  get(&Nodes::claim, std::vector{waiting(run)});
  beat(1, {.slots = 9, .free_slots = 8, .held = 1});
  for (int working = 1; working <= 2; ++working) {
    use(1);
    accepted(tenant, make_conversation(tenant).id);
    use(0);
    const auto listed = get(&Nodes::held_elsewhere);
    EXPECT_EQ(listed.size(), working == 2 ? 1U : 0U);
    if (listed.empty()) continue;
    EXPECT_EQ(listed[0].limits.weight, 7);
    EXPECT_EQ(listed[0].limits.max_running, 2);
  }
}

TEST_P(NodesContract, Runs_that_came_well_before_those_that_wait_here_are_overdue) {
  const auto tenant = make_tenant();
  const auto other = make_tenant("other");
  for (const int64_t came : {0, 1, 2}) held_run(tenant, {6'000 + came});
  held_run(other, {1'000});
  use(1);
  held_run(tenant, {6'001 + overdue_ms});
  held_run(tenant, {9'000'000});
  for (const auto& held : get(&Nodes::held_elsewhere)) {
    EXPECT_EQ(held.oldest.size(), held.tenant == tenant ? 3U : 1U);
    EXPECT_EQ(held.overdue, held.tenant == tenant ? 2 : 0) << "nothing of the other tenant waits here";
  }
}

TEST_P(NodesContract, A_long_queue_of_one_tenant_hides_no_other) {
  const auto many = make_tenant("many");
  const auto few = make_tenant("few");
  std::vector<HeldRun> oldest;
  for (std::size_t i = 0; i < held_of_tenant_max + 3; ++i) oldest.push_back(waiting(held_run(many).run));
  oldest.resize(held_of_tenant_max);
  const auto last = waiting(held_run(few).run);
  use(1);
  auto listed = get(&Nodes::held_elsewhere);
  ASSERT_EQ(listed.size(), 2U);
  std::ranges::sort(listed, std::greater{}, &HeldElsewhere::count);
  EXPECT_EQ(listed[0].count, static_cast<int64_t>(held_of_tenant_max) + 3);
  EXPECT_EQ(listed[0].oldest, oldest);
  EXPECT_EQ(listed[1].tenant, few);
  EXPECT_EQ(listed[1].oldest, std::vector{last});
}

TEST_P(NodesContract, Of_two_who_take_over_at_once_one_is_refused) {
  const auto tenant = make_tenant();
  const auto run = accepted(tenant, make_conversation(tenant).id).run;
  std::vector<Result<model::Run>> taken;
  for (const int which : {0, 1}) {
    use(which);
    store().take_over(run.id, run.epoch, [&](Result<model::Run> result) { taken.push_back(std::move(result)); });
  }
  ASSERT_TRUE(loop_.run_until([&] { return taken.size() == 2; }));
  EXPECT_EQ(std::ranges::count_if(taken, [](const auto& result) { return static_cast<bool>(result); }), 1);
}

TEST_P(NodesContract, Of_two_accepts_for_a_conversation_on_two_nodes_one_finds_it_busy) {
  const auto tenant = make_tenant();
  for (int round = 0; round < 5; ++round) {
    const auto conversation = make_conversation(tenant).id;
    int accepted_count = 0;
    int busy_count = 0;
    for (const int which : {0, 1}) {
      use(which);
      store().accept(a_run(tenant, conversation), [&](Result<AcceptOutcome> outcome) {
        ASSERT_TRUE(outcome) << outcome.error().what;
        accepted_count += std::holds_alternative<Accepted>(outcome.value()) ? 1 : 0;
        busy_count += std::holds_alternative<Busy>(outcome.value()) ? 1 : 0;
      });
    }
    ASSERT_TRUE(loop_.run_until([&] { return accepted_count + busy_count == 2; }));
    EXPECT_EQ(accepted_count, 1);
  }
}

TEST_P(NodesContract, Of_two_requests_with_one_key_on_two_nodes_one_is_the_replay_of_the_other) {
  const auto tenant = make_tenant();
  const Idempotency key{make_id<model::ServiceKeyId>(), "createMessage", "k", "digest"};
  std::vector<model::RunId> runs;
  for (const int which : {0, 1}) {
    use(which);
    auto made = a_run(tenant, make_conversation(tenant).id);
    made.idempotency = key;
    store().accept(std::move(made), [&](Result<AcceptOutcome> outcome) {
      ASSERT_TRUE(outcome) << outcome.error().what;
      if (const auto* fresh = std::get_if<Accepted>(&outcome.value())) runs.push_back(fresh->run.id);
      if (const auto* kept = std::get_if<Replay>(&outcome.value())) runs.push_back(kept->run->id);
    });
  }
  ASSERT_TRUE(loop_.run_until([&] { return runs.size() == 2; }));
  EXPECT_EQ(runs[0], runs[1]);
}

TEST_P(NodesContract, News_of_what_another_node_does_arrive) {
  meet();
  HeardNews news;
  listen(1, news);
  use(0);
  const auto tenant = make_tenant();
  const auto begun = accepted(tenant, make_conversation(tenant).id);
  follow(1, begun.run.id);
  get(&journal::Journal::append, the_end(begun));
  const auto heard = [&] { return std::ranges::find(news.moved, begun.run.id) != news.moved.end(); };
  EXPECT_TRUE(loop_.run_until(heard));
  get(&Nodes::post, a_letter(std::nullopt, ids[1]));
  EXPECT_TRUE(loop_.run_until([&] { return news.mail > 0; }));
  held_run(tenant);
  EXPECT_TRUE(loop_.run_until([&] { return news.held > 0; }));
  listen(1, news);
  store().nodes().tell(nullptr);
}

TEST_P(NodesContract, News_that_come_close_together_wait_for_no_others) {
  meet();
  HeardNews news;
  listen(1, news);
  use(0);
  int answered = 0;
  for (int sent = 2; sent <= 600; sent += 2) {
    for (int i = 0; i < 2; ++i) {
      store().nodes().post(a_letter(std::nullopt, ids[1]), [&](const auto& /*posted*/) { ++answered; });
    }
    ASSERT_TRUE(loop_.run_until([&] { return answered == sent && news.mail == sent; })) << news.mail << " of " << sent;
  }
  listen(1, news);
  store().nodes().tell(nullptr);
}

TEST_P(NodesContract, A_journal_that_nobody_follows_is_news_to_nobody_but_a_takeover_is_to_all) {
  meet();
  HeardNews news;
  listen(1, news);
  use(0);
  const auto tenant = make_tenant();
  const auto begun = accepted(tenant, make_conversation(tenant).id);
  const auto taken = accepted(tenant, make_conversation(tenant).id);
  get(&journal::Journal::append, the_end(begun));
  get(&journal::Journal::take_over, taken.run.id, taken.run.epoch);
  EXPECT_TRUE(loop_.run_until([&] { return !news.moved.empty(); }));
  EXPECT_EQ(news.moved, std::vector{taken.run.id}) << "news come in the order of commits";
  listen(1, news);
  store().nodes().tell(nullptr);
}

TEST_P(NodesContract, Whoever_acts_hears_nothing_of_itself) {
  meet();
  HeardNews own;
  HeardNews others;
  listen(0, own);
  listen(1, others);
  use(0);
  const auto tenant = make_tenant();
  const auto begun = accepted(tenant, make_conversation(tenant).id);
  get(&journal::Journal::append, the_end(begun));
  get(&Nodes::post, a_letter(std::nullopt, ids[1]));
  EXPECT_TRUE(loop_.run_until([&] { return others.mail > 0; }));
  EXPECT_TRUE(own.moved.empty());
  EXPECT_EQ(own.mail, 0);
  for (const int which : {0, 1}) {
    use(which);
    store().nodes().tell(nullptr);
  }
}

TEST(LoneNodes, A_store_of_one_server_has_one_node_and_no_mail) {
  WaitingLoop loop;
  LoneNodes lone(model::NodeId{}, loop);
  std::vector<SeenNode> seen;
  std::optional<std::vector<HeldElsewhere>> held;
  std::optional<std::vector<model::Run>> claimed;
  lone.beat({.name = "here", .slots = 2}, 1000, [&](Result<std::vector<SeenNode>> list) { seen = list.value(); });
  lone.held_elsewhere([&](Result<std::vector<HeldElsewhere>> found) { held = found.value(); });
  lone.claim({{}}, [&](Result<std::vector<model::Run>> runs) { claimed = runs.value(); });
  EXPECT_TRUE(seen.empty()) << "answered from inside the call";
  loop.settle();
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].figures.slots, 2);
  ASSERT_TRUE(held && claimed);
  EXPECT_TRUE(held->empty() && claimed->empty());
}

}  // namespace nodes_contract_test
}  // namespace sluice::store
