// A conversation that keeps its box between its messages: I-21.
#include "runner/gate_fixture.h"

namespace sluice::runner {
namespace sticky_test {

using model::EventKind;
using sandbox::FakeResult;
using Bodies = std::vector<std::string>;

class Sticky : public GateStory {
 protected:
  Sticky() { keeps_box = true; }
  void send(std::string prompt) {
    heard = {};
    begin(std::move(prompt));
    ASSERT_TRUE(heard.usage) << (heard.problem ? heard.problem->detail : "not over");
  }
  void remove(const std::string& name) {
    for (const auto& tree : {box().workspace(), box().changes()}) std::filesystem::remove(tree + "/" + name);
  }
  std::string diff() const { return heard.all(EventKind::diff); }
};

TEST_F(Sticky, I_21_The_box_and_its_processes_stay_between_messages) {
  materials.setup_script = "make deps";
  script = [](auto&, const auto& command) { return FakeResult{.hangs = command.background}; };
  send("call bash {\"command\":\"serve\",\"background\":true}\nwrite a.txt: one");
  auto* const first = &box();
  EXPECT_FALSE(first->killed);
  EXPECT_EQ(way_out.proxy().refusals, 1) << "nothing leaves it while no run uses it";
  first->say(2, sandbox::Stream::out, "still here");
  loop.settle();
  materials.variables = {{"MODE", "two"}};
  send("read a.txt\nsay {{last}}\n$ env");
  EXPECT_EQ(heard.text(), "one");
  EXPECT_EQ(&box(), first);
  EXPECT_EQ(sandbox->opened, 1);
  EXPECT_EQ(commands.size(), 3u) << "the setup script ran once";
  EXPECT_EQ(commands.back().environment.at("MODE"), "two");
  EXPECT_EQ(way_out.proxies.size(), 1u);
  EXPECT_EQ(way_out.proxy().served.size(), 2u);
  EXPECT_TRUE(heard.bodies(EventKind::output).empty()) << "what an earlier message's process prints is not this one's";
}

TEST_F(Sticky, H_5_each_message_tells_the_whole_diff_and_its_layer_takes_the_place_of_the_last) {
  supplies->wants = true;
  send("write a.txt: one\nwrite gone.txt: x\nwrite assets/r.txt: 1");
  EXPECT_EQ(layers(), (Bodies{"0001"}));
  EXPECT_EQ(supplies->taken->size(), 1u);
  remove("gone.txt");
  send("write b.txt: two\nwrite assets/s.txt: 2");
  EXPECT_EQ(layers(), (Bodies{"0001"})) << "drafts of one box do not pile up";
  EXPECT_NE(diff().find("+two"), std::string::npos) << diff();
  EXPECT_NE(diff().find("+one"), std::string::npos) << diff();
  EXPECT_EQ(diff().find("gone.txt"), std::string::npos) << "it was not there when the conversation began: " << diff();
  const auto own = heard.all(EventKind::custom);
  EXPECT_NE(own.find("+two"), std::string::npos) << own;
  EXPECT_EQ(own.find("+one"), std::string::npos) << own;
  EXPECT_NE(own.find("gone.txt"), std::string::npos) << own;
  ASSERT_EQ(supplies->taken->size(), 1u);
  EXPECT_EQ(supplies->taken->at(0).name, "s.txt");
  // A crash loses no finished message.
  work.reset();
  runner.reset();
  loop.settle();
  const auto layer = home + "/state/workspaces/" + dispatch_conversation().text() + "/none/0001";
  EXPECT_EQ(contents(layer + "/a.txt"), "one");
  EXPECT_EQ(contents(layer + "/b.txt"), "two");
}

TEST_F(Sticky, What_is_held_in_a_kept_box_hides_what_earlier_messages_made_and_this_one_took_away) {
  send("write a.txt: one\nwrite gone.txt: x");
  heard = {};
  begin("$ ls\nask May I?\nsay Done.");
  ASSERT_TRUE(heard.gate);
  remove("gone.txt");
  approve();
  EXPECT_TRUE(heard.usage);
  EXPECT_NE(diff().find("+one"), std::string::npos) << diff();
  EXPECT_EQ(diff().find("gone.txt"), std::string::npos) << diff();
  EXPECT_EQ(layers(), (Bodies{"0001"}));
}

TEST_F(Sticky, A_box_that_is_released_is_killed) {
  send("$ ls");
  runner->release(dispatch_conversation());
  runner->release(dispatch_conversation());
  loop.settle();
  EXPECT_TRUE(sandbox->boxes.empty());
  send("$ ls");
  EXPECT_EQ(sandbox->opened, 2);
}

TEST_F(Sticky, A_box_that_is_released_while_a_run_uses_it_goes_with_the_run) {
  script = [](auto&, auto&) { return FakeResult{.takes_ms = 10}; };
  begin("$ ls");
  runner->release(dispatch_conversation());
  loop.settle();
  EXPECT_FALSE(box().killed);
  pass(10);
  EXPECT_TRUE(heard.usage);
  EXPECT_TRUE(sandbox->boxes.empty());
}

TEST_F(Sticky, A_box_that_dies_while_idle_is_forgotten) {
  send("write a.txt: one");
  box().lose("the kernel took it");
  loop.settle();
  EXPECT_TRUE(sandbox->boxes.empty());
  send("read a.txt\nsay {{last}}");
  EXPECT_EQ(heard.text(), "one");
  EXPECT_EQ(sandbox->opened, 2);
}

TEST_F(Sticky, A_run_that_fails_takes_its_box_with_it) {
  send("write a.txt: one");
  heard = {};
  begin("write a.txt: two\nfail 400 no");
  EXPECT_TRUE(heard.problem);
  loop.settle();
  EXPECT_TRUE(sandbox->boxes.empty());
  send("read a.txt\nsay {{last}}");
  EXPECT_EQ(heard.text(), "one");
}

TEST_F(Sticky, A_message_with_another_repository_or_other_skills_has_another_box) {
  send("$ ls");
  const auto bundle = workspace::pack_bundle({{"SKILL.md", "---\nname: counting\ndescription: d\n---\n"}}, {}).take();
  supplies->bundles["counting"] = bundle;
  materials.skills = {{.id = "skl_1", .name = "counting", .description = "d", .sha256 = to_hex(sha256(bundle))}};
  send("$ ls");
  EXPECT_EQ(sandbox->opened, 2);
  EXPECT_EQ(sandbox->boxes.size(), 1u);
  send("$ ls");
  EXPECT_EQ(sandbox->opened, 2);
}

TEST_F(Sticky, A_conversation_that_is_pooled_again_starts_from_its_layers) {
  send("write a.txt: one");
  keeps_box = false;
  send("read a.txt\nsay {{last}}");
  EXPECT_EQ(heard.text(), "one");
  EXPECT_TRUE(sandbox->boxes.empty());
}

TEST_F(Sticky, Boxes_that_wait_for_work_are_the_sandbox_s_to_count) {
  sandbox->warm = 3;
  send("say Hello.");
  EXPECT_EQ(runner->warm_available(), 3);
}

}  // namespace sticky_test
}  // namespace sluice::runner
