// A remote dispatcher with everything around it scripted: the runners, the store, the listener.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "net/fake_client.h"
#include "remote/remote_work.h"
#include "remote/runner_stream.h"
#include "store/simulated_store.h"
#include "world/fake_world.h"

namespace sluice::remote {

struct RecordingListener final : dispatch::DispatchListener {
  void on_event(model::RunEvent event) override {
    if (event.kind == model::EventKind::mark) {
      marks.push_back(std::move(event.body));
      if (after_mark) after_mark(marks.back());
    } else {
      received += std::string(name_of(event.kind)) + " " + event.body + "\n";
    }
    if (event.kind == model::EventKind::text) text += event.body;
    last_at = event.at;
    if (after_event) after_event();
  }
  void on_finished(model::Usage its) override { usage = its; }
  void on_failed(model::Problem why) override { problem = std::move(why); }
  void on_gate(dispatch::Gate) override { ADD_FAILURE() << "a runner elsewhere raises no gates"; }

  std::string received, text;
  std::vector<std::string> marks;
  Timestamp last_at;
  std::optional<model::Usage> usage;
  std::optional<model::Problem> problem;
  std::function<void()> after_event;
  std::function<void(const std::string&)> after_mark;
};

inline constexpr std::string_view result_line =
    "{\"type\":\"result\",\"message\":\"Hello.\",\"usage\":{\"input_tokens\":3,\"output_tokens\":4},\"ts\":5}\n";

class RemoteTest : public testing::Test {
 protected:
  RemoteTest() {
    options_.runner_urls = {"http://one", "http://two/"};
    options_.runner_key = "rk";
    options_.mint = {"http://server", "secret", 50};
    dispatch_.run = ids_.make<model::RunId>();
    dispatch_.agent.tenant_id = ids_.make<model::TenantId>();
    dispatch_.prompt = "Hi";
    model::Tenant tenant{.id = dispatch_.agent.tenant_id, .name = "t"};
    store::create_tenant(store_.database(), tenant,
                         {.id = ids_.make<model::AgentId>(), .tenant_id = tenant.id, .is_default = true},
                         [](Result<Unit> made) { ASSERT_TRUE(made); });
    loop_.settle();
  }
  void begin() {
    if (!dispatcher_) {
      dispatcher_ = make_remote_dispatcher({store_, client_, loop_, ids_, entropy_, log_, metrics_}, options_);
    }
    received_.after_mark = [this](const std::string& mark) {
      if (journal_answers_ && read_mark(mark)->line == 0) write_later(mark);
    };
    work_ = dispatcher_->dispatch(dispatch_, received_);
    EXPECT_EQ(received_.received, "") << "no callback comes from inside dispatch()";
    loop_.settle();
  }
  // Before the first line it is waited for; stories about later ones write them themselves.
  void write_later(std::string mark) {
    loop_.defer([this, mark = std::move(mark)] {
      if (work_) work_->written(mark);
    });
  }
  std::string sent(std::size_t request, std::string_view name) {
    const auto document = json::Document::parse(client_.requests.at(request).body);
    const auto value = document.value().root().find(name);
    return value ? std::string(*value->string()) : "";
  }
  model::Slug failed_with() { return received_.problem ? received_.problem->slug : model::Slug::not_found; }
  std::string method_and_url(std::size_t request) const {
    return client_.requests.at(request).method + " " + client_.requests.at(request).url;
  }

  world::FakeLoop loop_;
  world::FakeEntropy entropy_;
  world::IdSource ids_{loop_, entropy_};
  world::FakeLog log_;
  world::Metrics metrics_;
  net::FakeClient client_{loop_};
  store::SimulatedDatabase disk_;
  store::SimulatedStore store_{disk_, loop_};
  RemoteOptions options_;
  dispatch::Dispatch dispatch_;
  RecordingListener received_;
  bool journal_answers_ = true;
  std::unique_ptr<dispatch::Dispatcher> dispatcher_;
  std::unique_ptr<dispatch::Work> work_;
};

}  // namespace sluice::remote
