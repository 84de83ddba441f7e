// A runner that may ask a human, and a human who answers when the test says so; for each placement.
#pragma once

#include <fcntl.h>

#include "runner/session_fixture.h"

namespace sluice::runner {

class GateStory : public SessionTest {
 protected:
  GateStory() {
    secrets = std::make_shared<vault::Secrets>();
    may_ask = true;
    egress = &way_out;
    sandbox->egress_listener = [](sandbox::FakeBox&) { return OwnedFd(open("/dev/null", O_RDONLY | O_CLOEXEC)); };
  }

  // A human agrees, and supplies what was asked for.
  void approve(std::vector<vault::Secret> supplied = {}) {
    ASSERT_TRUE(heard.gate);
    const auto gate = *std::exchange(heard.gate, std::nullopt);
    EXPECT_EQ(gate.keeps_box, keeps_box);
    if (!supplied.empty()) secrets->replace(std::move(supplied));
    if (gate.keeps_box) {
      work->go_on({});
      return loop.settle();
    }
    EXPECT_TRUE(sandbox->boxes.empty()) << "a parked run has no box";
    expect_nothing_left();
    go_on_from(gate.checkpoint);
  }
  // As another server would.
  void go_on_from(std::string checkpoint) {
    work.reset();
    auto dispatch = last;
    dispatch.checkpoint = std::move(checkpoint);
    work = runner->dispatch(std::move(dispatch), heard);
    loop.settle();
  }

  // For whom something is kept.
  std::vector<dispatch::ParkedRun> parked() {
    std::vector<dispatch::ParkedRun> found;
    runner->list_parked([&](std::vector<dispatch::ParkedRun> kept) { found = std::move(kept); });
    loop.settle();
    return found;
  }

  void forbid(model::Subject subject, std::string pattern, std::string reason = "") {
    agent.policy.push_back({.effect = model::Effect::deny, .subject = subject, .pattern = pattern, .reason = reason});
  }
  void ask_about(model::Subject subject, std::string pattern, std::string reason = "") {
    agent.policy.push_back({.effect = model::Effect::ask, .subject = subject, .pattern = pattern, .reason = reason});
  }

  // All that was reported, but for the phases of boxes.
  std::vector<std::string> events() const {
    std::vector<std::string> reports;
    for (const auto& event : heard.events) {
      const bool is_phase = event.kind == model::EventKind::log && event.body.find("\"phase\"") != std::string::npos;
      if (!is_phase) reports.push_back(std::string(name_of(event.kind)) + " " + event.body);
    }
    return reports;
  }

  egress::FakeEgress way_out;
};

enum class Placement : uint8_t { pooled, sticky };

class GateTest : public GateStory, public testing::WithParamInterface<Placement> {
 protected:
  GateTest() { keeps_box = GetParam() == Placement::sticky; }
};

inline std::string name_of_placement(const testing::TestParamInfo<Placement>& info) {
  return info.param == Placement::sticky ? "sticky" : "pooled";
}

}  // namespace sluice::runner
