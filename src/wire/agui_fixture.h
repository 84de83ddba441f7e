// Journals as a store gives them, and stories that are sent to clients of every kind.
#pragma once

#include <string>
#include <vector>

#include "base/check.h"
#include "store/simulated_store.h"
#include "wire/wire.h"
#include "world/fake_world.h"

namespace sluice::wire {

// Nothing but a store can make a Committed.
class AguiJournals {
 public:
  AguiJournals() {
    run_.id = ids_.make<model::RunId>();
    run_.tenant_id = ids_.make<model::TenantId>();
    run_.conversation_id = ids_.make<model::ConversationId>();
    run_.user_message_id = ids_.make<model::MessageId>();
    run_.message_id = ids_.make<model::MessageId>();
    run_.agent_id = ids_.make<model::AgentId>();
  }
  const model::Run& run() const { return run_; }

  journal::CommittedBatch journal_of(std::vector<model::RunEvent> events) {
    for (std::size_t i = 0; i < events.size(); ++i)
      events[i].at = Timestamp{1'782'986'401'000 + static_cast<int64_t>(i)};
    store::SimulatedDatabase disk;
    store::SimulatedStore store(disk, loop_);
    store::create_tenant(store.database(), {.id = run_.tenant_id},
                         {.id = run_.agent_id, .tenant_id = run_.tenant_id, .is_default = true}, [](Result<Unit>) {});
    journal::NewRun made;
    made.conversation =
        model::Conversation{.id = run_.conversation_id, .tenant_id = run_.tenant_id, .agent_id = run_.agent_id};
    made.user_message = {.id = run_.user_message_id, .conversation_id = run_.conversation_id};
    made.assistant_message = {.id = run_.message_id, .conversation_id = run_.conversation_id};
    made.run = run_;
    made.events = std::move(events);
    journal::CommittedBatch journal;
    store.accept(std::move(made), [&](Result<journal::AcceptOutcome> outcome) {
      SLUICE_CHECK(outcome);
      journal = std::get<journal::Accepted>(outcome.value()).events;
    });
    loop_.settle();
    return journal;
  }

  std::string fold(const journal::CommittedBatch& journal, const View& view) const {
    AguiFold fold(view, run_);
    std::string out;
    for (const auto& news : journal) fold.apply(news, out);
    SLUICE_CHECK(fold.violations() == 0);
    return out;
  }

 private:
  world::FakeLoop loop_;
  world::FakeEntropy entropy_;
  world::IdSource ids_{loop_, entropy_};
  model::Run run_;
};

struct AguiStory {
  std::string name;
  std::vector<model::RunEvent> events;
  int segments = 1;
};
std::vector<AguiStory> agui_stories();

}  // namespace sluice::wire
