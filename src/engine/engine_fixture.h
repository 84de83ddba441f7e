// A house in one thread for the engine's tests: a disk that can fail, the agent and readers of agent_fixture.h, and a
// server that can die.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "engine/agent_fixture.h"
#include "store/simulated_store.h"
#include "world/fake_world.h"

namespace sluice::engine {

class EngineTest : public testing::Test {
 protected:
  EngineTest() {
    start_server();
    store::create_tenant(store->database(), tenant, agent, [](Result<Unit> made) { ASSERT_TRUE(made); });
    model::Conversation first{.id = conversation, .tenant_id = tenant.id, .agent_id = agent.id};
    store->create_conversation({first, "", {}}, [](Result<journal::ConversationOutcome> made) { ASSERT_TRUE(made); });
    loop.settle();
  }
  ~EngineTest() override { stop_server(); }

  void start_server() {
    store = std::make_unique<store::SimulatedStore>(disk, loop);
    engine = make_engine({*store, dispatcher, loop, ids, log, metrics, sealer, material_source, &noticed}, options);
    bool recovered = false;
    engine->recover([&](Result<Unit> done) { recovered = bool(done); });
    loop.settle();
    ASSERT_TRUE(recovered);
  }
  void stop_server() {
    engine.reset();
    store.reset();
    loop.settle();
  }
  void restart_server() {
    stop_server();
    start_server();
  }

  Send message(std::string content) { return message_in(conversation, std::move(content)); }
  Send message_in(model::ConversationId where, std::string content) {
    Send send;
    send.tenant = tenant.id;
    send.conversation = where;
    send.content = std::move(content);
    send.request_id = "req_test";
    return send;
  }
  SendOutcome send(Send what) {
    SendOutcome outcome = model::Problem{};
    engine->send(std::move(what), [&](SendOutcome answer) { outcome = std::move(answer); });
    loop.settle();
    return outcome;
  }
  model::Run send_ok(Send what) {
    auto outcome = send(std::move(what));
    EXPECT_TRUE(std::holds_alternative<Sent>(outcome));
    return std::holds_alternative<Sent>(outcome) ? std::get<Sent>(outcome).run : model::Run{};
  }
  model::Slug send_refused(Send what) {
    auto outcome = send(std::move(what));
    EXPECT_TRUE(std::holds_alternative<model::Problem>(outcome));
    return std::holds_alternative<model::Problem>(outcome) ? std::get<model::Problem>(outcome).slug
                                                           : model::Slug::rate_limited;
  }

  void agent_says(const std::string& text, model::EventKind kind = model::EventKind::text) {
    dispatcher.jobs.back()->listener->on_event({kind, loop.now(), text});
    loop.settle();
  }
  void agent_finishes() {
    dispatcher.jobs.back()->listener->on_finished({3, 4});
    loop.settle();
  }

  // Another conversation of the same tenant.
  model::ConversationId make_conversation(model::Runtime runtime = {}) {
    model::Conversation made{.id = ids.make<model::ConversationId>(), .tenant_id = tenant.id, .agent_id = agent.id};
    made.runtime = std::move(runtime);
    store->create_conversation({made, "", {}}, [](Result<journal::ConversationOutcome> done) { ASSERT_TRUE(done); });
    loop.settle();
    return made.id;
  }
  // How many were cancelled by now.
  std::size_t cancel(const model::Run& run) {
    const auto cancelled = std::make_shared<std::size_t>(0);
    engine->cancel(tenant.id, run.id, [cancelled](std::variant<model::Run, model::Problem> answer) {
      *cancelled = std::holds_alternative<model::Run>(answer) ? 1 : 0;
    });
    loop.settle();
    return *cancelled;
  }

  // Everything a reader who asks now, from after `after`, gets to read.
  std::string read_all(const model::Run& run, int64_t after = -1) {
    RememberingReader reader;
    const auto reading = engine->read(run, {.format = wire::Format::ndjson, .after = after}, reader);
    loop.settle();
    return reader.text;
  }
  model::Run stored_run(const model::Run& run) {
    model::Run found;
    store::run(store->database(), tenant.id, run.id, [&](Result<model::Run> answer) {
      ASSERT_TRUE(answer);
      found = answer.value();
    });
    loop.settle();
    return found;
  }
  std::string stored_message(model::MessageId id) {
    std::string json;
    store::message(store->database(), tenant.id, id, [&](Result<store::StoredMessage> answer) {
      ASSERT_TRUE(answer);
      json = answer.value().json;
    });
    loop.settle();
    return json;
  }

  model::RepositoryId make_repository(std::string name) {
    model::Repository made{.id = ids.make<model::RepositoryId>(), .tenant_id = tenant.id, .name = name};
    made.url = "https://git.example/" + name;
    store::create_repository(store->database(), made, [](Result<Unit> done) { ASSERT_TRUE(done); });
    loop.settle();
    return made.id;
  }
  model::SkillId make_skill(std::string name) {
    model::Skill made{.id = ids.make<model::SkillId>(), .tenant_id = tenant.id, .name = std::move(name)};
    store::put_skill(store->database(), made, [](const Result<model::Skill>& done) { ASSERT_TRUE(done); });
    loop.settle();
    return made.id;
  }
  void make_environment(std::string name, std::map<std::string, std::string> variables, std::string script) {
    model::Environment made{.id = ids.make<model::EnvironmentId>(), .tenant_id = tenant.id, .name = std::move(name)};
    made.variables = std::move(variables);
    made.script = std::move(script);
    store::create_environment(store->database(), made, [](Result<Unit> done) { ASSERT_TRUE(done); });
    loop.settle();
  }

  world::FakeLoop loop;
  world::FakeEntropy entropy;
  world::FakeLog log;
  world::Metrics metrics;
  world::IdSource ids{loop, entropy};
  store::SimulatedDatabase disk;
  ScriptedDispatcher dispatcher{loop};
  vault::Sealer sealer{vault::parse_key_file("a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s").take(), entropy};
  int notices_seen = 0;
  Callback<void()> noticed = [this] { ++notices_seen; };
  MaterialSource* material_source = nullptr;  // set before the server starts
  EngineOptions options{"http://test"};
  model::Tenant tenant{.id = ids.make<model::TenantId>(), .name = "Acme"};
  model::Agent agent{.id = ids.make<model::AgentId>(), .tenant_id = tenant.id, .name = "default", .is_default = true};
  model::ConversationId conversation = ids.make<model::ConversationId>();

  std::unique_ptr<store::SimulatedStore> store;
  std::unique_ptr<Engine> engine;
};

inline int count_lines(const std::string& text) { return static_cast<int>(std::count(text.begin(), text.end(), '\n')); }

}  // namespace sluice::engine
