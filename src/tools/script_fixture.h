// A toolbox whose tools do as the test says, and a listener that keeps what it hears of a call.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/lifetime.h"
#include "tools/toolbox.h"

namespace sluice::tools {

using namespace runs;

class FakeToolbox final : public Toolbox {
 public:
  explicit FakeToolbox(world::Loop& loop) : loop_(loop) {}

  void open(Callback<void(std::string_view, std::string)>, Callback<void()> ready) override { ready(); }
  void renew(Callback<void(bool)> ready) override { ready(false); }
  const std::vector<model::HostTool>& tools() const override { return list; }
  bool has(std::string_view name) const override {
    return std::ranges::any_of(list, [&](const auto& tool) { return tool.name == name; });
  }
  bool is_of_client(std::string_view name) const override { return name == client_tool; }
  std::unique_ptr<HostCall> call(const models::ToolCall& call, std::string_view, HostCallListener& listener) override {
    calls.push_back(call);
    ++under_way;
    return std::make_unique<One>(*this, call, listener);
  }

  std::vector<model::HostTool> list;
  std::string client_tool;
  std::function<std::optional<ToolAnswer>(const models::ToolCall&)> script;  // empty: it is not answered
  std::vector<models::ToolCall> calls;
  int under_way = 0;

 private:
  class One final : public HostCall {
   public:
    One(FakeToolbox& box, models::ToolCall call, HostCallListener& listener) : box_(box) {
      box.loop_.defer([this, &listener, call = std::move(call), alive = lifetime_.watch()] {
        if (alive.is_over()) return;
        listener.on_host_custom("crm.progress", R"({"step":1})");
        if (auto answer = box_.script(call)) listener.on_host_answer(std::move(*answer));
      });
    }
    ~One() override { --box_.under_way; }

   private:
    FakeToolbox& box_;
    Lifetime lifetime_;
  };

  world::Loop& loop_;
};

struct HeardHost final : HostCallListener {
  std::vector<std::pair<std::string, std::string>> events;
  std::string output;
  std::optional<ToolAnswer> answer;
  std::function<void()> after_answer;

  void on_host_custom(std::string_view name, std::string_view value) override {
    EXPECT_FALSE(answer);
    EXPECT_TRUE(json::Document::parse(value)) << value;
    events.emplace_back(name, value);
  }
  void on_host_output(std::string_view text) override {
    EXPECT_FALSE(answer);
    output += text;
  }
  void on_host_answer(ToolAnswer said) override {
    EXPECT_FALSE(answer);
    answer = std::move(said);
    if (after_answer) after_answer();
  }

  // "execution_started console …"
  std::string names() const {
    std::string joined;
    for (const auto& [name, value] : events) {
      joined += (joined.empty() ? "" : " ") + (name.starts_with("code_mode:") ? name.substr(10) : name);
    }
    return joined;
  }
  // Of the events of that name: the member, as JSON, one a line.
  std::string all(std::string_view name, std::string_view member) const {
    std::string joined;
    for (const auto& [its, value] : events) {
      if (its != "code_mode:" + std::string(name)) continue;
      const auto document = json::Document::parse(value);
      const auto found = document.value().root().find(member);
      joined += (joined.empty() ? "" : "\n") + (found ? found->to_text() : "");
    }
    return joined;
  }
  std::size_t count(std::string_view name) const {
    return static_cast<std::size_t>(std::ranges::count_if(
        events, [&](const auto& event) { return event.first == "code_mode:" + std::string(name); }));
  }
};

}  // namespace sluice::tools
