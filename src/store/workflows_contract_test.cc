// The contract of every store, about workflows, their runs and what these tell.
#include "store/store_contract.h"

namespace sluice::store {
namespace workflows_contract_test {

class WorkflowContract : public StoreContract {
 public:
  model::Workflow a_workflow(std::string name) {
    return {.id = make_id<model::WorkflowId>(),
            .tenant_id = tenant,
            .name = std::move(name),
            .description = "What it does ✓",
            .definition = R"({"blocks":[{"id":"a"}]})",
            .created_at = {1'000},
            .updated_at = {1'000}};
  }
  model::Workflow make_workflow(std::string name = "report") {
    auto made = a_workflow(std::move(name));
    get(&store::create_workflow, made);
    return made;
  }
  model::WorkflowRun a_run(model::WorkflowId workflow) {
    return {.id = make_id<model::WorkflowRunId>(),
            .tenant_id = tenant,
            .workflow_id = workflow,
            .definition = R"({"blocks":[{"id":"a"}]})",
            .inputs = R"({"x":1})",
            .blocks = {{"a", model::BlockStatus::pending, {}}},
            .created_at = {2'000}};
  }
  model::WorkflowRun start(model::WorkflowId workflow) {
    return get(&store::start_workflow_run, WorkflowAppend{a_run(workflow), {"first"}});
  }
  static WorkflowAppend the_end(model::WorkflowRun run) {
    run.status = model::WorkflowRunStatus::failed;
    run.outputs = R"({"y":"2"})";
    run.error = model::WorkflowError{"a-code", "Words."};
    run.blocks[0].status = model::BlockStatus::failed;
    run.ended_at = Timestamp{3'000};
    return {run, {"last"}};
  }

  const model::TenantId tenant = make_tenant();
};

INSTANTIATE_TEST_SUITE_P(Stores, WorkflowContract, every_backend, name_of_backend);

TEST_P(WorkflowContract, A_workflow_is_kept_changed_and_removed) {
  const auto made = make_workflow();
  restart();
  EXPECT_EQ(model::to_json(get(&store::workflow, tenant, made.id)), model::to_json(made));
  const auto other = make_tenant("other");
  EXPECT_EQ(refused(&store::workflow, other, made.id), ErrorKind::not_found);

  const WorkflowPatch patch{"renamed", "", R"({"blocks":[]})"};
  const auto changed = get(&store::update_workflow, tenant, made.id, patch, Timestamp{5'000});
  EXPECT_EQ(changed.name, "renamed");
  EXPECT_EQ(changed.description, "");
  EXPECT_EQ(changed.definition, R"({"blocks":[]})");
  EXPECT_EQ(changed.updated_at.ms, 5'000);
  restart();
  EXPECT_EQ(model::to_json(get(&store::workflow, tenant, made.id)), model::to_json(changed));
  EXPECT_EQ(get(&store::update_workflow, tenant, made.id, WorkflowPatch{}, Timestamp{6'000}).name, "renamed");
  EXPECT_EQ(refused(&store::update_workflow, other, made.id, patch, Timestamp{}), ErrorKind::not_found);

  EXPECT_EQ(refused(&store::delete_workflow, other, made.id), ErrorKind::not_found);
  get(&store::delete_workflow, tenant, made.id);
  EXPECT_EQ(refused(&store::delete_workflow, tenant, made.id), ErrorKind::not_found);
}

TEST_P(WorkflowContract, A_change_made_of_an_older_definition_is_refused) {
  const auto made = make_workflow();
  const WorkflowPatch patch{.definition = R"({"blocks":[]})", .definition_before = made.definition};
  EXPECT_EQ(get(&store::update_workflow, tenant, made.id, patch, Timestamp{5'000}).definition, R"({"blocks":[]})");
  EXPECT_EQ(refused(&store::update_workflow, tenant, made.id, patch, Timestamp{6'000}), ErrorKind::conflict);
  EXPECT_EQ(get(&store::workflow, tenant, made.id).updated_at.ms, 5'000);
}

TEST_P(WorkflowContract, Names_are_unique_within_a_tenant) {
  const auto first = make_workflow("one");
  EXPECT_EQ(refused(&store::create_workflow, a_workflow("one")), ErrorKind::conflict);
  const auto second = make_workflow("two");
  EXPECT_EQ(refused(&store::update_workflow, tenant, second.id, WorkflowPatch{.name = "one"}, Timestamp{}),
            ErrorKind::conflict);
  EXPECT_EQ(get(&store::update_workflow, tenant, first.id, WorkflowPatch{.name = "one"}, Timestamp{}).name, "one");
  auto elsewhere = a_workflow("one");
  elsewhere.tenant_id = make_tenant("other");
  get(&store::create_workflow, elsewhere);
  elsewhere.tenant_id = make_id<model::TenantId>();
  EXPECT_EQ(refused(&store::create_workflow, elsewhere), ErrorKind::not_found);
}

TEST_P(WorkflowContract, Lists_are_newest_first) {
  std::vector<model::WorkflowId> ids;
  for (const auto* name : {"a", "b", "c", "d", "e"}) ids.insert(ids.begin(), make_workflow(name).id);
  auto foreign = a_workflow("x");
  foreign.tenant_id = make_tenant("other");
  get(&store::create_workflow, foreign);
  expect_pages(ids, foreign.id,
               [&](PageQuery<model::WorkflowId> query) { return ask(&store::workflows, tenant, query); });
  EXPECT_EQ(refused(&store::workflows, make_id<model::TenantId>(), PageQuery<model::WorkflowId>{}),
            ErrorKind::not_found);
}

TEST_P(WorkflowContract, Runs_are_listed_newest_first_even_when_their_workflow_is_gone) {
  const auto workflow = make_workflow().id;
  std::vector<model::WorkflowRunId> ids;
  for (int i = 0; i < 5; ++i) ids.insert(ids.begin(), start(workflow).id);
  const auto other = start(make_workflow("another").id).id;
  get(&store::delete_workflow, tenant, workflow);
  expect_pages(ids, other, [&](PageQuery<model::WorkflowRunId> query) {
    return ask(&store::workflow_runs, tenant, workflow, query);
  });
  EXPECT_TRUE(
      get(&store::workflow_runs, make_tenant("other"), workflow, PageQuery<model::WorkflowRunId>{}).rows.empty());
}

TEST_P(WorkflowContract, A_run_has_its_own_copy_and_grows_event_by_event) {
  const auto workflow = make_workflow();
  auto run = start(workflow.id);
  EXPECT_EQ(run.head.value, 1U);
  get(&store::update_workflow, tenant, workflow.id, WorkflowPatch{.definition = "{}"}, Timestamp{});
  run.blocks[0] = {"a", model::BlockStatus::running, make_id<model::RunId>()};
  run = get(&store::append_to_workflow_run, WorkflowAppend{run, {"second", "third ✓"}});
  EXPECT_EQ(run.head.value, 3U);
  restart();
  auto kept = get(&store::workflow_run, tenant, run.id);
  EXPECT_EQ(model::to_json(kept), model::to_json(run));
  EXPECT_EQ(kept.definition, R"({"blocks":[{"id":"a"}]})");
  EXPECT_EQ(kept.head.value, 3U);
  EXPECT_FALSE(get(&store::workflow_journal, run.id, model::Position{0}).is_over);

  get(&store::append_to_workflow_run, the_end(kept));
  restart();
  kept = get(&store::workflow_run, tenant, run.id);
  EXPECT_EQ(kept.status, model::WorkflowRunStatus::failed);
  EXPECT_EQ(kept.error, (model::WorkflowError{"a-code", "Words."}));
  EXPECT_EQ(kept.outputs, R"({"y":"2"})");
  EXPECT_EQ(kept.ended_at, Timestamp{3'000});
  const auto page = get(&store::workflow_journal, run.id, model::Position{1});
  EXPECT_EQ(page.bodies, (std::vector<std::string>{"second", "third ✓", "last"}));
  EXPECT_TRUE(page.is_over);
  EXPECT_TRUE(get(&store::workflow_journal, run.id, model::Position{4}).bodies.empty());
  EXPECT_EQ(refused(&store::workflow_run, make_tenant("other"), run.id), ErrorKind::not_found);
  EXPECT_EQ(refused(&store::workflow_journal, make_id<model::WorkflowRunId>(), model::Position{}),
            ErrorKind::not_found);
}

TEST_P(WorkflowContract, Of_two_who_append_at_the_same_place_one_is_refused) {
  const auto run = start(make_workflow().id);
  get(&store::append_to_workflow_run, WorkflowAppend{run, {"second"}});
  EXPECT_EQ(refused(&store::append_to_workflow_run, WorkflowAppend{run, {"another second"}}), ErrorKind::conflict);
  auto later = run;
  later.head = {3};
  EXPECT_EQ(refused(&store::append_to_workflow_run, WorkflowAppend{later, {"too far"}}), ErrorKind::conflict);
  later.head = {2};
  get(&store::append_to_workflow_run, the_end(later));
  later.head = {3};
  EXPECT_EQ(refused(&store::append_to_workflow_run, WorkflowAppend{later, {"after the end"}}), ErrorKind::conflict);
  later.id = make_id<model::WorkflowRunId>();
  EXPECT_EQ(refused(&store::append_to_workflow_run, WorkflowAppend{later, {"nowhere"}}), ErrorKind::not_found);
  EXPECT_EQ(get(&store::workflow_journal, run.id, model::Position{}).bodies,
            (std::vector<std::string>{"first", "second", "last"}));
}

TEST_P(WorkflowContract, A_run_of_no_workflow_and_one_that_is_there_are_refused) {
  const auto workflow = make_workflow().id;
  const auto run = start(workflow);
  EXPECT_EQ(refused(&store::start_workflow_run, WorkflowAppend{run, {"first"}}), ErrorKind::conflict);
  EXPECT_EQ(refused(&store::start_workflow_run, WorkflowAppend{a_run(make_id<model::WorkflowId>()), {"first"}}),
            ErrorKind::not_found);
  auto foreign = a_run(workflow);
  foreign.tenant_id = make_tenant("other");
  EXPECT_EQ(refused(&store::start_workflow_run, WorkflowAppend{foreign, {"first"}}), ErrorKind::not_found);
}

TEST_P(WorkflowContract, Unfinished_runs_are_found_oldest_first) {
  const auto workflow = make_workflow().id;
  const auto first = start(workflow);
  const auto over = start(workflow);
  const auto last = start(workflow);
  get(&store::append_to_workflow_run, the_end(over));
  restart();
  const auto unfinished = get(&store::unfinished_workflow_runs);
  ASSERT_EQ(unfinished.size(), 2U);
  EXPECT_EQ(unfinished[0].id, first.id);
  EXPECT_EQ(unfinished[1].id, last.id);
  EXPECT_EQ(unfinished[0].definition, R"({"blocks":[{"id":"a"}]})");
}

TEST_P(WorkflowContract, A_long_journal_is_read_in_pages) {
  auto run = start(make_workflow().id);
  const std::string large(limits::page_bytes_max / 2, 'x');
  for (int i = 0; i < 3; ++i) run = get(&store::append_to_workflow_run, WorkflowAppend{run, {large}});
  EXPECT_EQ(get(&store::workflow_journal, run.id, model::Position{0}).bodies.size(), 2U) << "the first is short";
  EXPECT_EQ(get(&store::workflow_journal, run.id, model::Position{1}).bodies.size(), 2U);
  EXPECT_EQ(get(&store::workflow_journal, run.id, model::Position{3}).bodies.size(), 1U);
}

TEST_P(WorkflowContract, A_run_is_written_by_the_node_that_carries_it_and_by_no_other) {
  const auto first = make_id<model::NodeId>();
  const auto second = make_id<model::NodeId>();
  auto made = a_run(make_workflow().id);
  made.node = first;
  const auto begun = get(&store::start_workflow_run, WorkflowAppend{made, {"first"}});
  EXPECT_EQ(begun.node, first);
  EXPECT_EQ(refused(&store::take_over_workflow_run, begun.id, second, second), ErrorKind::conflict);
  const auto taken = get(&store::take_over_workflow_run, begun.id, first, second);
  EXPECT_EQ(taken.node, second);
  EXPECT_EQ(get(&store::workflow_run, tenant, begun.id).node, second);
  EXPECT_EQ(refused(&store::append_to_workflow_run, the_end(begun)), ErrorKind::conflict);
  EXPECT_EQ(refused(&store::take_over_workflow_run, begun.id, first, first), ErrorKind::conflict);
  get(&store::append_to_workflow_run, the_end(taken));
  EXPECT_EQ(refused(&store::take_over_workflow_run, begun.id, second, first), ErrorKind::conflict);
  EXPECT_EQ(refused(&store::take_over_workflow_run, make_id<model::WorkflowRunId>(), second, first),
            ErrorKind::not_found);
}

}  // namespace workflows_contract_test
}  // namespace sluice::store
