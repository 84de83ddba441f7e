#include "flow/progress.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace sluice::flow {
namespace progress_test {

std::string agents(const std::string& id) {
  return R"({"id":")" + id + R"(","type":"agents","agent":"x","prompt":"x"})";
}
std::string condition(const std::string& id) {
  return R"({"id":")" + id + R"(","type":"condition","left":"a","op":"eq","right":"b"})";
}

Plan plan(const std::string& blocks, const std::string& edges, const std::string& more = "") {
  auto made = plan_of(R"({"blocks":[)" + blocks + R"(],"edges":[)" + edges + "]" + more + "}");
  if (!made) check_failed(made.error().what.c_str(), __FILE__, __LINE__);
  return std::move(made).take();
}

model::WorkflowEvent finished(std::string block, std::string response = "") {
  return {{},
          model::BlockFinished{std::move(block), model::BlockStatus::succeeded, {.response = std::move(response)}, {}}};
}
model::WorkflowEvent failed(std::string block, std::string code = "model-error") {
  return {{},
          model::BlockFinished{
              std::move(block), model::BlockStatus::failed, {}, model::WorkflowError{std::move(code), "No."}}};
}
model::WorkflowEvent skipped(std::string block) {
  return {{}, model::BlockFinished{std::move(block), model::BlockStatus::skipped, {}, {}}};
}
model::WorkflowEvent started(std::string block) { return {{}, model::BlockStarted{std::move(block), "agents", {}}}; }

// In a word.
std::string said(const Plan& plan, const NextStep& step) {
  if (const auto* begin = std::get_if<BeginBlock>(&step)) return "begin " + plan.definition.blocks[begin->block].id;
  if (const auto* skip = std::get_if<SkipBlock>(&step)) return "skip " + plan.definition.blocks[skip->block].id;
  if (const auto* carry = std::get_if<CarryBlock>(&step)) return "carry " + plan.definition.blocks[carry->block].id;
  if (const auto* finish = std::get_if<FinishRun>(&step)) return std::string(name_of(finish->end.status));
  return "over";
}

// Walks to the end; conditions answer as `answers` says. What was done, in order.
std::string walk(const Plan& plan, const std::map<std::string, std::string>& answers, const std::string& fails = "") {
  Progress progress(plan, "{}");
  std::string way;
  for (int i = 0; i < 200; ++i) {
    const auto step = progress.next();
    const auto word = said(plan, step);
    way += (way.empty() ? "" : ", ") + word;
    if (const auto* begin = std::get_if<BeginBlock>(&step)) {
      const auto& id = plan.definition.blocks[begin->block].id;
      progress.apply(started(id));
      EXPECT_EQ(said(plan, progress.next()), "carry " + id);
      const auto answer = answers.find(id);
      progress.apply(id == fails ? failed(id) : finished(id, answer == answers.end() ? "done" : answer->second));
    } else if (const auto* skip = std::get_if<SkipBlock>(&step)) {
      progress.apply(skipped(plan.definition.blocks[skip->block].id));
    } else if (const auto* finish = std::get_if<FinishRun>(&step)) {
      progress.apply({{}, finish->end});
      EXPECT_EQ(said(plan, progress.next()), "over");
      return way;
    }
  }
  return way + " without an end";
}

TEST(Progress, Blocks_are_done_one_after_the_other) {
  const auto line = plan(agents("a") + "," + agents("b"), R"({"from":"a","to":"b"})");
  EXPECT_EQ(walk(line, {}), "begin a, begin b, succeeded");
  EXPECT_EQ(walk(plan(agents("b") + "," + agents("a"), ""), {}), "begin b, begin a, succeeded");
}

TEST(Progress, A_condition_chooses_the_way_and_the_other_is_skipped_to_where_they_meet) {
  const auto fork = plan(agents("a") + "," + condition("c") + "," + agents("yes") + "," + agents("yes2") + "," +
                             agents("no") + "," + agents("end"),
                         R"({"from":"a","to":"c"},{"from":"c","to":"yes","when":true},{"from":"yes","to":"yes2"},)"
                         R"({"from":"c","to":"no","when":false},{"from":"yes2","to":"end"},{"from":"no","to":"end"})");
  EXPECT_EQ(walk(fork, {{"c", "true"}}), "begin a, begin c, begin yes, begin yes2, skip no, begin end, succeeded");
  EXPECT_EQ(walk(fork, {{"c", "false"}}), "begin a, begin c, skip yes, skip yes2, begin no, begin end, succeeded");
}

TEST(Progress, A_block_is_skipped_only_when_no_edge_to_it_is_taken) {
  const auto mixed = plan(condition("c") + "," + agents("a") + "," + agents("x"),
                          R"({"from":"c","to":"x","when":true},{"from":"a","to":"x"})");
  EXPECT_EQ(walk(mixed, {{"c", "false"}}), "begin c, begin a, begin x, succeeded");
  const auto both = plan(condition("c") + "," + agents("x"),
                         R"({"from":"c","to":"x","when":true},{"from":"c","to":"x","when":false})");
  EXPECT_EQ(walk(both, {{"c", "true"}}), "begin c, begin x, succeeded");
  const auto nested = plan(condition("c") + "," + condition("d") + "," + agents("x"),
                           R"({"from":"c","to":"d","when":true},{"from":"d","to":"x","when":true})");
  EXPECT_EQ(walk(nested, {{"c", "false"}}), "begin c, skip d, skip x, succeeded");
  EXPECT_EQ(walk(nested, {{"c", "true"}, {"d", "false"}}), "begin c, begin d, skip x, succeeded");
}

TEST(Progress, A_failed_block_ends_the_run_and_a_cancelled_one_cancels_it) {
  const auto line = plan(agents("a") + "," + agents("b"), R"({"from":"a","to":"b"})");
  EXPECT_EQ(walk(line, {}, "a"), "begin a, failed");
  EXPECT_EQ(walk(line, {}, "b"), "begin a, begin b, failed");
  Progress progress(line, "{}");
  progress.apply(started("a"));
  progress.apply(failed("a", std::string(cancelled_code)));
  const auto step = progress.next();
  ASSERT_TRUE(std::holds_alternative<FinishRun>(step));
  EXPECT_EQ(std::get<FinishRun>(step).end.status, model::WorkflowRunStatus::cancelled);
  EXPECT_EQ(std::get<FinishRun>(step).end.error->code, cancelled_code);
}

// Every graph of three blocks in a row, with every pattern of edges and every answer of its conditions: each block is
// done or skipped exactly once, after all that it follows, and the end comes.
TEST(Progress, Every_small_graph_comes_to_its_end) {
  struct Pair {
    int from, to;
  };
  constexpr Pair pairs[] = {{0, 1}, {0, 2}, {1, 2}};
  int graphs = 0;
  for (int kinds = 0; kinds < 8; ++kinds) {
    for (int shape = 0; shape < 64; ++shape) {  // each pair: no edge, when true, when false, both
      std::string blocks;
      for (int i = 0; i < 3; ++i) {
        const auto id = std::string(1, static_cast<char>('a' + i));
        blocks += (i == 0 ? "" : ",") + ((kinds >> i & 1) != 0 ? condition(id) : agents(id));
      }
      std::string edges;
      for (int i = 0; i < 3; ++i) {
        const int way = shape >> (2 * i) & 3;
        const auto edge = [&](const std::string& when) {
          edges += (edges.empty() ? "" : ",") + std::string(R"({"from":")") + static_cast<char>('a' + pairs[i].from) +
                   R"(","to":")" + static_cast<char>('a' + pairs[i].to) + "\"" + when + "}";
        };
        if (way == 0) continue;
        if ((kinds >> pairs[i].from & 1) == 0) {
          edge("");
        } else {
          if ((way & 1) != 0) edge(R"(,"when":true)");
          if ((way & 2) != 0) edge(R"(,"when":false)");
        }
      }
      const auto made = plan(blocks, edges);
      for (int answers = 0; answers < 4; ++answers) {
        const auto way =
            walk(made, {{"a", (answers & 1) != 0 ? "true" : "false"}, {"b", (answers & 2) != 0 ? "true" : "false"}});
        EXPECT_TRUE(way.ends_with("succeeded")) << blocks << edges << way;
        EXPECT_EQ(std::ranges::count(way, ','), 3) << blocks << edges << way;
        ++graphs;
      }
    }
  }
  EXPECT_EQ(graphs, 2'048);
}

// ── what templates are shown ──

TEST(Progress, Places_show_what_is_there) {
  const auto line =
      plan(agents("a") + "," + agents("b"), R"({"from":"a","to":"b"})",
           R"(,"inputs":[{"name":"t","type":"text"},{"name":"n","type":"number"},{"name":"j","type":"json"},)"
           R"({"name":"none","type":"text"}])");
  Progress progress(line, R"({"t":"words \"✓\"","n":1.5,"j":{"a":[1]}})");
  const auto value = [&](const std::string& place) {
    const auto words = Template::parse("{{" + place + "}}");
    const auto shown = render(words.value(), [&](const Place& named) { return progress.value_of(named); }, 1'000);
    return shown ? shown.value() : "refused: " + shown.error().what;
  };
  EXPECT_EQ(value("inputs.t"), "words \"✓\"");
  EXPECT_EQ(value("inputs.n"), "1.5");
  EXPECT_EQ(value("inputs.j"), R"({"a":[1]})");
  EXPECT_EQ(value("inputs.none"), "");

  progress.apply(started("a"));
  const std::string json = R"({"items":[{"name":"x"},{"name":2}],"0":"zero","none":null})";
  progress.apply({{}, model::BlockFinished{"a", model::BlockStatus::succeeded, {json, "[1]", json, 201}, {}}});
  EXPECT_EQ(value("blocks.a.response"), json);
  EXPECT_EQ(value("blocks.a.files"), "[1]");
  EXPECT_EQ(value("blocks.a.status"), "201");
  EXPECT_EQ(value("blocks.a.json"), json);
  EXPECT_EQ(value("blocks.a.json.items.0.name"), "x");
  EXPECT_EQ(value("blocks.a.json.items.1.name"), "2");
  EXPECT_EQ(value("blocks.a.json.items.1"), R"({"name":2})");
  EXPECT_EQ(value("blocks.a.json.0"), "zero") << "a member may be called 0";
  EXPECT_EQ(value("blocks.a.json.none"), "null");
  for (const auto* path : {"items.2", "items.-1", "items.x", "missing", "items.0.name.deep"}) {
    EXPECT_TRUE(value(std::string("blocks.a.json.") + path).starts_with("refused: {{blocks.a.json.")) << path;
  }
  EXPECT_EQ(value("blocks.b.status"), "pending");
  EXPECT_TRUE(value("blocks.b.json").starts_with("refused"));
  progress.apply(skipped("b"));
  EXPECT_EQ(value("blocks.b.response"), "");
  EXPECT_EQ(value("blocks.b.files"), "[]");
  EXPECT_EQ(value("blocks.b.status"), "skipped");
  EXPECT_EQ(value("blocks.b.json.a"), "") << "what was skipped says nothing";
}

TEST(Progress, The_outputs_are_rendered_at_the_end_and_may_fail_it) {
  const auto with = [](const std::string& outputs) {
    auto made = plan(agents("a"), "", R"(,"outputs":)" + outputs);
    Progress progress(made, "{}");
    progress.apply(started("a"));
    progress.apply(finished("a", "x\"y"));
    return std::get<FinishRun>(progress.next()).end;
  };
  EXPECT_EQ(with(R"({"o":"<{{blocks.a.response}}>","s":"{{blocks.a.status}}"})").outputs,
            R"({"o":"<x\"y>","s":"succeeded"})");
  const auto end = with(R"({"o":"{{blocks.a.json.x}}"})");
  EXPECT_EQ(end.status, model::WorkflowRunStatus::failed);
  EXPECT_EQ(end.error->code, "template-failed");
  EXPECT_EQ(end.outputs, "{}");
}

TEST(Progress, Its_blocks_show_where_each_stands) {
  const auto line = plan(agents("a") + "," + agents("b"), "");
  Progress progress(line, "{}");
  const auto run = *model::RunId::parse("run_01arz3ndektsv4rrffq69g5fav");
  progress.apply({{}, model::BlockStarted{"a", "agents", run}});
  EXPECT_EQ(progress.blocks(), (std::vector<model::BlockState>{{"a", model::BlockStatus::running, run},
                                                               {"b", model::BlockStatus::pending, {}}}));
  const auto step = progress.next();
  EXPECT_EQ(std::get<CarryBlock>(step).run_id, run);
}

}  // namespace progress_test
}  // namespace sluice::flow
