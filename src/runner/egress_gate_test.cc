// What leaves a box, and what waits at its way out: I-17.
#include "runner/gate_fixture.h"

namespace sluice::runner {
namespace egress_gate_test {

using model::EventKind;
using sandbox::FakeResult;
using Bodies = std::vector<std::string>;

class EgressStory : public GateStory {
 protected:
  EgressStory() {
    // The first command waits for its request; one that is run again gets through.
    script = [this](auto&, auto&) {
      return commands.size() == 1 || hangs ? FakeResult{.hangs = true} : FakeResult{.out = "reached"};
    };
  }
  egress::FakeProxy& way() { return way_out.proxy(); }
  // Its request went through: the command that hangs ends well.
  void end_command() {
    if (!keeps_box) return;
    box().say(box().commands.size() - 1, sandbox::Stream::out, "reached");
    box().end(box().commands.size() - 1, {});
    loop.settle();
  }
  bool hangs = false;
};

class EgressGate : public EgressStory, public testing::WithParamInterface<Placement> {
 protected:
  EgressGate() { keeps_box = GetParam() == Placement::sticky; }
};

INSTANTIATE_TEST_SUITE_P(Placements, EgressGate, testing::Values(Placement::pooled, Placement::sticky),
                         name_of_placement);

TEST_P(EgressGate, A_box_is_served_as_its_run_s_guest) {
  agent.policy = {{.subject = model::Subject::host, .pattern = "api.example.com"}};
  begin("$ curl\n");
  ASSERT_TRUE(way().access);
  EXPECT_EQ(way().access->run, last.run);
  EXPECT_EQ(way().access->policy, agent.policy);
  EXPECT_EQ(way().access->secrets, secrets);
  for (const auto& [name, value] : egress::proxy_environment()) EXPECT_EQ(box().request.environment.at(name), value);
  way().pass({.host = "api.example.com", .port = 443, .method = "GET", .status = 200});
  ASSERT_EQ(heard.bodies(EventKind::egress).size(), 1u);
  EXPECT_NE(heard.bodies(EventKind::egress)[0].find(R"("host":"api.example.com")"), std::string::npos);
}

TEST_P(EgressGate, S_4_A_box_reaches_its_workspace_and_has_no_token_of_it) {
  auto dispatch = dispatch_of("$ curl\n");
  dispatch.workspace = {"http://127.0.0.1:8080/api/workspaces/wsp_1", "asbx_1"};
  begin(std::move(dispatch));
  ASSERT_TRUE(way().access && way().access->workspace);
  EXPECT_EQ(way().access->workspace->base_url, "http://127.0.0.1:8080/api/workspaces/wsp_1");
  EXPECT_EQ(way().access->workspace->token, "asbx_1");
  EXPECT_EQ(box().request.environment.at("SLUICE_WORKSPACE_URL"), "http://workspace.sluice");
  for (const auto& [name, value] : box().request.environment) {
    EXPECT_EQ(value.find("asbx_"), std::string::npos) << name;
  }
}

TEST_P(EgressGate, A_box_without_a_workspace_is_told_of_none) {
  begin("$ curl\n");
  ASSERT_TRUE(way().access);
  EXPECT_FALSE(way().access->workspace);
  EXPECT_FALSE(box().request.environment.contains("SLUICE_WORKSPACE_URL"));
}

TEST_P(EgressGate, What_is_under_way_when_the_run_ends_is_in_its_log) {
  begin("$ curl\nsay done");
  way().under_way = {{.host = "slow.example", .port = 443, .method = "CONNECT", .sent_bytes = 7}};
  box().end(box().commands.size() - 1, {});
  loop.settle();
  ASSERT_EQ(heard.bodies(EventKind::egress).size(), 1u);
  EXPECT_NE(heard.bodies(EventKind::egress)[0].find(R"("host":"slow.example")"), std::string::npos);
}

TEST_P(EgressGate, I_17_A_request_that_lacks_its_secret_waits_for_a_human) {
  begin("$ curl\nsay {{last}}");
  const auto number =
      way().ask({.host = "api.example.com", .method = "GET", .alias = "TOKEN", .place = model::place_query});
  loop.settle();
  ASSERT_TRUE(heard.gate);
  EXPECT_EQ(heard.gate->reason, "A request to api.example.com uses {{secret:TOKEN}}, which is not on file.");
  EXPECT_EQ(heard.gate->items,
            (std::vector<model::RequestedItem>{{.kind = model::ItemKind::secret,
                                                .description = "Secret for GET requests to api.example.com",
                                                .alias = "TOKEN",
                                                .hosts = {"api.example.com"},
                                                .places = model::places_by_default | model::place_query}}));
  approve({{.alias = "TOKEN", .value = "very-hidden"}});
  if (keeps_box) {
    EXPECT_TRUE(way().settled.at(number).go_on);
  } else {
    EXPECT_EQ(commands.size(), 2u) << "it is run again from its start";
  }
  end_command();
  EXPECT_EQ(heard.text(), "reached");
  EXPECT_EQ(steps().size(), 2u) << "it is one step, however often it began";
}

TEST_P(EgressGate, Questions_wait_their_turn_and_what_is_settled_is_not_asked_again) {
  hangs = true;
  begin("$ curl\nsay {{last}}");
  way().ask({.host = "a.example", .method = "GET", .alias = "ONE"});
  loop.settle();
  ASSERT_TRUE(heard.gate);
  if (keeps_box) {
    way().ask({.host = "a.example", .method = "GET", .alias = "ONE"});
    way().ask({.host = "b.example", .method = "GET", .alias = "TWO"});
    loop.settle();
    EXPECT_EQ(heard.gate_count, 1);
  }
  approve({{.alias = "ONE", .value = "very-hidden"}});
  if (!keeps_box) {
    way().ask({.host = "b.example", .method = "GET", .alias = "TWO"});
    loop.settle();
  }
  ASSERT_TRUE(heard.gate);
  EXPECT_EQ(heard.gate->items[0].alias, "TWO");
  hangs = false;
  approve({{.alias = "ONE", .value = "very-hidden"}, {.alias = "TWO", .value = "too-hidden"}});
  end_command();
  EXPECT_EQ(heard.text(), "reached");
}

TEST_P(EgressGate, A_host_that_a_human_allowed_is_allowed_for_the_rest_of_the_run) {
  hangs = true;
  begin("$ curl\nsay {{last}}");
  way().ask({.host = "a.example", .method = "POST", .reason = "Not every day."});
  loop.settle();
  ASSERT_TRUE(heard.gate);
  EXPECT_EQ(heard.gate->reason, "Not every day.");
  EXPECT_EQ(heard.gate->items[0].kind, model::ItemKind::action);
  EXPECT_EQ(heard.gate->items[0].description,
            "Requests to a.example, until this run ends: with any method and any content, to any port that the agent's "
            "policy names. The first one: POST.");
  approve();
  const auto again = way().ask({.host = "a.example", .method = "POST"});
  loop.settle();
  EXPECT_FALSE(heard.gate);
  EXPECT_TRUE(way().settled.at(again).go_on);
}

TEST_F(EgressStory, What_was_sent_for_good_is_not_sent_twice) {
  begin("$ curl\nsay {{last}}");
  way().pass({.host = "a.example", .port = 443, .method = "POST", .status = 201});
  way().ask({.host = "a.example", .method = "GET", .alias = "TOKEN"});
  loop.settle();
  approve({{.alias = "TOKEN", .value = "very-hidden"}});
  EXPECT_EQ(commands.size(), 1u);
  EXPECT_NE(heard.text().find("It had sent requests by then, so it was not run again"), std::string::npos)
      << heard.text();
  EXPECT_NE(heard.text().find("{{secret:TOKEN}} is on file"), std::string::npos) << heard.text();
}

TEST_F(EgressStory, I_17_What_changed_the_workspace_is_not_run_again_from_its_start) {
  script = [this](auto& box, auto&) {
    put(box.changes() + "/out/a.txt", "half");
    return FakeResult{.hangs = commands.size() == 1};
  };
  begin("$ mkdir out && curl\nsay {{last}}");
  way().ask({.host = "a.example", .method = "GET", .alias = "TOKEN"});
  loop.settle();
  approve({{.alias = "TOKEN", .value = "very-hidden"}});
  EXPECT_EQ(commands.size(), 1u);
  EXPECT_TRUE(
      heard.text().starts_with("The command was waiting for {{secret:TOKEN}} when it was ended. It had changed "
                               "files (out/a.txt) by then, so it was not run again."))
      << heard.text();
  EXPECT_TRUE(heard.text().ends_with("See what it did, then run it again or go on from there.")) << heard.text();
  EXPECT_NE(steps().back().find("failed"), std::string::npos) << steps().back();
}

TEST_F(EgressStory, All_that_kept_a_command_from_being_run_again_is_told) {
  script = [this](auto& box, auto&) {
    for (const auto* name : {"1", "2", "3", "4", "5", "6", "7"}) put(box.changes() + "/" + name, "x");
    return FakeResult{.hangs = commands.size() == 1};
  };
  begin("$ curl\nsay {{last}}");
  way().pass({.host = "a.example", .port = 443, .method = "POST", .status = 201});
  way().ask({.host = "a.example", .method = "POST"});
  loop.settle();
  approve();
  EXPECT_EQ(commands.size(), 1u);
  EXPECT_TRUE(
      heard.text().starts_with("The command was waiting for leave to send requests to a.example when it was "
                               "ended. It had sent requests and changed files ("))
      << heard.text();
  EXPECT_NE(heard.text().find(" and more) by then"), std::string::npos) << heard.text();
  EXPECT_NE(heard.text().find("Requests to a.example are allowed now."), std::string::npos) << heard.text();
}

TEST_F(EgressStory, A_command_that_changes_something_and_ends_while_a_human_thinks_is_not_run_again) {
  keeps_box = true;
  begin("$ curl\nsay {{last}}");
  way().ask({.host = "a.example", .method = "GET", .alias = "TOKEN"});
  loop.settle();
  ASSERT_TRUE(heard.gate);
  put(box().changes() + "/a.txt", "late");
  pass(options.sessions.tool_timeout_ms);
  approve({{.alias = "TOKEN", .value = "very-hidden"}});
  EXPECT_EQ(commands.size(), 1u);
  EXPECT_NE(heard.text().find("It had changed files (a.txt) by then"), std::string::npos) << heard.text();
}

TEST_P(EgressGate, Where_nobody_can_be_asked_the_request_is_refused) {
  may_ask = false;
  begin("$ curl");
  const auto number = way().ask({.host = "a.example", .method = "GET", .alias = "TOKEN"});
  loop.settle();
  EXPECT_FALSE(way().settled.at(number).go_on);
  EXPECT_EQ(way().settled.at(number).words, "{{secret:TOKEN}} is not on file, and no human can be asked for it.");
}

TEST_P(EgressGate, What_asks_while_no_call_waits_is_refused) {
  begin("call bash {\"command\":\"serve\",\"background\":true}\nsleep 1000\nsay Done.");
  const auto number = way().ask({.host = "a.example", .method = "GET", .alias = "TOKEN"});
  loop.settle();
  EXPECT_FALSE(heard.gate);
  EXPECT_FALSE(way().settled.at(number).go_on);
}

TEST_F(EgressStory, A_command_that_ends_while_a_human_thinks_is_run_again) {
  keeps_box = true;
  begin("$ curl\nsay {{last}}");
  way().ask({.host = "a.example", .method = "GET", .alias = "TOKEN"});
  loop.settle();
  ASSERT_TRUE(heard.gate);
  pass(options.sessions.tool_timeout_ms);
  approve({{.alias = "TOKEN", .value = "very-hidden"}});
  EXPECT_EQ(commands.size(), 2u);
  EXPECT_EQ(heard.text(), "reached");
}

TEST_F(EgressStory, A_box_that_is_lost_while_a_human_thinks_is_opened_again) {
  keeps_box = true;
  begin("write a.txt: one\nask May I?\nread a.txt\nsay {{last}}");
  ASSERT_TRUE(heard.gate);
  box().lose("the kernel took it");
  loop.settle();
  approve();
  EXPECT_EQ(heard.text(), "one");
  EXPECT_TRUE(heard.usage);
  EXPECT_EQ(sandbox->opened, 2);
  EXPECT_EQ(layers(), (Bodies{"0001"}));
}

}  // namespace egress_gate_test
}  // namespace sluice::runner
