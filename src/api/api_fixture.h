// The surfaces over a real engine and a store in memory, in one thread. The test plays the callers
// and the agent.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "api/api.h"
#include "api/fake_exchange.h"
#include "api/fake_mint.h"
#include "base/bytes.h"
#include "base/digest.h"
#include "dispatch/dispatch.h"
#include "files/fake_contents.h"
#include "net/fake_client.h"
#include "store/simulated_store.h"
#include "world/fake_world.h"

namespace sluice::api {

// An agent that says what the test says.
class PlayedAgent final : public dispatch::Dispatcher {
 public:
  explicit PlayedAgent(world::Loop& loop) : loop_(loop) {}

  std::unique_ptr<dispatch::Work> dispatch(dispatch::Dispatch work, dispatch::DispatchListener& its_listener) override {
    last = std::move(work);
    ++dispatch_count;
    listener = &its_listener;
    return std::make_unique<Played>(*this);
  }
  bool can_resume(const model::Agent&, std::string_view) const override { return false; }
  bool reads_history(const model::Agent&) const override { return false; }
  void release(model::ConversationId conversation) override { released.push_back(conversation); }
  void forget_parked(model::RunId run, model::ConversationId) override { forgotten.push_back(run); }
  bool keeps_boxes() const override { return true; }
  int warm_available() const override { return 3; }

  dispatch::Dispatch last;
  int dispatch_count = 0;
  std::vector<model::ConversationId> released;
  std::vector<model::RunId> forgotten;
  dispatch::DispatchListener* listener = nullptr;  // null: no run is active

 private:
  world::Loop& loop_;

  struct Played final : dispatch::Work {
    explicit Played(PlayedAgent& agent) : agent_(agent) {}
    ~Played() override { agent_.listener = nullptr; }
    void stop(Callback<void()> gone) override {
      agent_.listener = nullptr;
      agent_.loop_.defer(std::move(gone));
    }
    void go_on(std::vector<model::ClientResult>) override {}
    PlayedAgent& agent_;
  };
};

// As a key file would have it.
inline vault::MasterKey master_key(char fill) {
  std::string bytes(32, fill);
  return {to_hex(sha256(bytes).substr(0, 4)), bytes};
}

// For loops over words.
using Texts = std::vector<std::string>;

using Answer = std::shared_ptr<FakeExchange>;

struct Ask {
  std::string key;  // bearer; empty: none
  std::string body;
  net::Headers headers = {};
};

struct TenantInHand {
  model::TenantId id;
  model::AgentId agent;
  std::string key;
  model::ServiceKeyId key_id;
};

class ApiTest : public testing::Test {
 protected:
  ApiTest() {
    make_engine({});
    make_surfaces({});
    acme = make_tenant("acme");
    other = make_tenant("other");
  }

  // Surfaces of before know the engine of before: make them anew.
  void make_engine(engine::EngineOptions options) {
    options.public_base_url = "http://test";
    api.reset();
    flows.reset();
    engine = engine::make_engine({store, agent, loop, ids, log, metrics, sealer}, std::move(options));
    flows = flow::make_flows({store, *engine, client, loop, ids, log}, {.http_urls = {"http://api.example"}});
  }

  void make_surfaces(ApiOptions options, std::string url = "http://test") {
    options.public_base_url = std::move(url);
    options.admin_key_sha256 = sha256(admin_key);
    options.version = "1.2.3";
    options.console_session_root = "what the console's cookies are proven by";
    api.reset();
    api = make_api(
        {store, *engine, loop, ids, entropy, log, metrics, contents, workers, mint, sealer, *flows, watched_disk},
        std::move(options));
  }

  TenantInHand make_tenant(const std::string& name) {
    TenantInHand out{ids.make<model::TenantId>(), ids.make<model::AgentId>(), "sk_int_" + name + "_key_of_this_tenant",
                     ids.make<model::ServiceKeyId>()};
    model::Tenant tenant{.id = out.id, .name = name};
    model::Agent its_agent{.id = out.agent, .tenant_id = out.id, .name = "default", .is_default = true};
    its_agent.model = {"offline", "offline", std::nullopt};
    model::ServiceKey key{.id = out.key_id, .tenant_id = out.id, .name = name, .secret_sha256 = sha256(out.key)};
    store::create_tenant(store.database(), tenant, its_agent, [](Result<Unit> made) { ASSERT_TRUE(made); });
    store::create_service_key(store.database(), key, [](Result<Unit> made) { ASSERT_TRUE(made); });
    loop.settle();
    return out;
  }

  // Asks and lets everything happen that needs no time. `target` may have a query.
  Answer ask_as(std::string method, std::string_view target, Ask what) {
    net::Request request;
    request.method = std::move(method);
    request.path = target.substr(0, target.find('?'));
    if (target.find('?') != std::string_view::npos) request.query = target.substr(target.find('?') + 1);
    request.headers = std::move(what.headers);
    if (!what.key.empty()) request.headers.add("Authorization", "Bearer " + what.key);
    request.body = std::move(what.body);
    auto exchange = std::make_shared<FakeExchange>(std::move(request));
    api->handle(exchange);
    loop.settle();
    return exchange;
  }
  Answer get(std::string_view target) { return ask_as("GET", target, {.key = acme.key}); }
  Answer post(std::string_view target, std::string body, net::Headers headers = {}) {
    return ask_as("POST", target, {.key = acme.key, .body = std::move(body), .headers = std::move(headers)});
  }
  Answer patch(std::string_view target, std::string body) {
    return ask_as("PATCH", target, {.key = acme.key, .body = std::move(body)});
  }
  Answer put(std::string_view target, std::string body) {
    return ask_as("PUT", target, {.key = acme.key, .body = std::move(body)});
  }
  Answer remove(std::string_view target) { return ask_as("DELETE", target, {.key = acme.key}); }
  Answer admin(std::string method, std::string_view target, std::string body = "") {
    return ask_as(std::move(method), target, {.key = admin_key, .body = std::move(body)});
  }

  // Of one file, and the file; its id.
  std::string make_skill(const std::string& name) {
    return post("/v1/skills", R"({"files":[{"path":"SKILL.md","content":"---\nname: )" + name +
                                  R"(\ndescription: Does it.\n---\nDo it.\n"}]})")
        ->text("id");
  }
  std::string make_repository(const std::string& name) {
    return post("/v1/repositories", R"({"name":")" + name + R"(","url":"https://git.example/x.git"})")->text("id");
  }
  std::string make_environment(const std::string& name) {
    return post("/v1/environments", R"({"name":")" + name + R"(","variables":{"A":"1"},"script":"true"})")->text("id");
  }
  static std::string workspace_of(const TenantInHand& tenant) {
    return "/api/workspaces/" + model::WorkspaceId{tenant.id.ulid}.text();
  }

  std::string make_conversation(std::string body = "{}") {
    return post("/v1/conversations", std::move(body))->text("id");
  }
  Answer send(const std::string& conversation, std::string content, net::Headers headers = {}) {
    return post("/v1/conversations/" + conversation + "/messages", R"({"content":")" + content + "\"}",
                std::move(headers));
  }

  void agent_says(std::string text, model::EventKind kind = model::EventKind::text) {
    ASSERT_NE(agent.listener, nullptr);
    agent.listener->on_event({kind, loop.now(), std::move(text)});
    loop.settle();
  }
  void agent_finishes() {
    ASSERT_NE(agent.listener, nullptr);
    agent.listener->on_finished({3, 4});
    loop.settle();
  }
  void agent_fails(model::Slug slug) {
    ASSERT_NE(agent.listener, nullptr);
    agent.listener->on_failed({.slug = slug, .detail = "It did not work."});
    loop.settle();
  }

  // The agent cannot continue without a human; its sandbox is gone.
  void agent_asks(std::vector<model::RequestedItem> items) {
    ASSERT_NE(agent.listener, nullptr);
    dispatch::Gate gate{.reason = "It needs a human.", .items = std::move(items), .checkpoint = "{}"};
    agent.listener->on_gate(std::move(gate));
    loop.settle();
  }

  bool logged(std::string_view words) const {
    for (const auto& line : log.lines) {
      if (line.find(words) != std::string::npos) return true;
    }
    return false;
  }

  const std::string admin_key = "sk_adm_the_key_of_the_operator";
  world::FakeLoop loop;
  world::FakeEntropy entropy;
  world::IdSource ids{loop, entropy};
  world::FakeLog log;
  world::Metrics metrics;
  store::SimulatedDatabase disk;
  store::SimulatedStore store{disk, loop};
  PlayedAgent agent{loop};
  vault::Sealer sealer{{master_key('k')}, entropy};
  files::FakeContents contents;
  world::FakeWorkers threads{loop};
  world::SharedWorkers workers{threads, {}};
  FakeMint mint{loop, ids};
  net::FakeClient client{loop};
  world::DiskRoom* watched_disk = nullptr;  // by the surfaces, from when they are made
  std::unique_ptr<engine::Engine> engine;
  std::unique_ptr<flow::Flows> flows;
  std::unique_ptr<Api> api;
  TenantInHand acme;
  TenantInHand other;
};

// The number of events in a stream.
inline std::size_t count_lines(std::string_view text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace sluice::api
