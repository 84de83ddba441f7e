// What the contract of a store is told with: a loop that can wait for other threads, verbs for
// records, and a store of either kind that can be restarted.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <tuple>

#include "store/simulated_store.h"
#include "world/fake_world.h"

namespace sluice::store {

// A FakeLoop that can wait for what other threads post.
class WaitingLoop final : public world::Loop {
 public:
  Timestamp now() const override { return inner_.now(); }
  int64_t monotonic_us() const override { return inner_.monotonic_us(); }
  world::Timer after(Millis delay, Callback<void()> then) override { return inner_.after(delay, std::move(then)); }
  void defer(Callback<void()> then) override { inner_.defer(std::move(then)); }
  void post(Callback<void()> then) override {
    const std::lock_guard lock(mutex_);
    inner_.post(std::move(then));
    ++posted_;
    posted_something_.notify_one();
  }
  void settle() { inner_.settle(); }
  // Runs until `done()`; false when nothing more comes for a minute.
  template <typename Predicate>
  bool run_until(Predicate done) {
    for (;;) {
      uint64_t seen = 0;
      {
        const std::lock_guard lock(mutex_);
        seen = posted_;
      }
      inner_.settle();
      if (done()) return true;
      std::unique_lock lock(mutex_);
      const auto moved = [&] { return posted_ != seen; };
      if (!posted_something_.wait_for(lock, std::chrono::seconds(60), moved)) return false;
    }
  }

 private:
  world::FakeLoop inner_;
  std::mutex mutex_;
  std::condition_variable posted_something_;
  uint64_t posted_ = 0;
};

template <typename Last>
struct DoneTraits;
template <typename T>
struct DoneTraits<Callback<void(Result<T>)>> {
  using Value = T;
};

// The result of an operation with these parameters.
template <typename... Params>
using AnswerOf = Result<typename DoneTraits<std::tuple_element_t<sizeof...(Params) - 1, std::tuple<Params...>>>::Value>;

// A folder of its own, gone with it.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "sluice-store-XXXXXX").string();
    SLUICE_CHECK(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~ScratchFolder() { std::filesystem::remove_all(path_); }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  std::string file(std::string_view name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

// Asks a store and waits for what it says; makes the records that most stories begin with.
class StoreTeller {
 public:
  StoreTeller() : ids_(loop_, entropy_) {}

  Store& store() { return *store_; }
  WaitingLoop& loop() { return loop_; }

  // ask(&store::tenant, id) and ask(&journal::Journal::accept, run) are the results of these operations.
  template <typename... Params, typename... Args>
  auto ask(void (*operation)(Database&, Params...), Args&&... args) {
    return wait_for<Params...>(
        [&](auto done) { operation(store_->database(), std::forward<Args>(args)..., std::move(done)); });
  }
  template <typename Part, typename... Params, typename... Args>
  auto ask(void (Part::*operation)(Params...), Args&&... args) {
    return wait_for<Params...>([&](auto done) {
      (part(static_cast<Part*>(nullptr)).*operation)(std::forward<Args>(args)..., std::move(done));
    });
  }
  // The value of an operation that must succeed.
  template <typename Operation, typename... Args>
  auto get(Operation operation, Args&&... args) {
    auto answer = ask(operation, std::forward<Args>(args)...);
    if (!answer) check_failed(answer.error().what.c_str(), __FILE__, __LINE__);
    return std::move(answer).take();
  }
  template <typename Operation, typename... Args>
  ErrorKind refused(Operation operation, Args&&... args) {
    auto answer = ask(operation, std::forward<Args>(args)...);
    if (answer) check_failed("the store refuses", __FILE__, __LINE__);
    EXPECT_FALSE(answer.error().what.empty());
    return answer.error().kind;
  }

  template <typename AnyId>
  AnyId make_id() {
    return ids_.make<AnyId>();
  }

  model::Agent an_agent(model::TenantId tenant, std::string name) {
    return {.id = make_id<model::AgentId>(),
            .tenant_id = tenant,
            .name = std::move(name),
            .system_prompt = "Be brief.",
            .model = {"offline", "echo", "http://127.0.0.1:1"},
            .limits = {100, 200, 300},
            .created_at = {1000},
            .updated_at = {1000}};
  }
  model::TenantId make_tenant(std::string name = "acme") {
    const auto id = make_id<model::TenantId>();
    get(&store::create_tenant, model::Tenant{.id = id, .name = std::move(name), .metadata = {{"plan", "gold"}}},
        an_agent(id, "default"));
    return id;
  }
  model::Conversation a_conversation(model::TenantId tenant, Timestamp at = {5000}) {
    return {.id = make_id<model::ConversationId>(),
            .tenant_id = tenant,
            .metadata = {{"topic", "\"quoted\" ✓"}},
            .last_message_at = at,
            .created_at = at,
            .updated_at = at};
  }
  model::Conversation make_conversation(model::TenantId tenant, Timestamp at = {5000}) {
    const auto made = a_conversation(tenant, at);
    get(&journal::Journal::create_conversation, NewConversation{made, "", std::nullopt});
    return get(&store::conversation, tenant, made.id);
  }

  // The history of a run that answers the message `before`.
  std::vector<Turn> history(model::TenantId tenant, model::ConversationId conversation, model::MessageId before,
                            int turns_max) {
    model::Run run{.tenant_id = tenant, .conversation_id = conversation};
    run.user_message_id = before;
    return get(&store::launch_records, run, LaunchQuestion{{}, turns_max}).history;
  }

  NewRun a_run(model::TenantId tenant, model::ConversationId conversation, Timestamp at = {6000}) {
    NewRun made;
    made.user_message = {.id = make_id<model::MessageId>(),
                         .conversation_id = conversation,
                         .role = model::Role::user,
                         .content = "What is it?",
                         .created_at = at};
    made.assistant_message = {.id = make_id<model::MessageId>(),
                              .conversation_id = conversation,
                              .role = model::Role::assistant,
                              .status = model::MessageStatus::in_progress,
                              .created_at = at};
    made.run = {.id = make_id<model::RunId>(),
                .tenant_id = tenant,
                .conversation_id = conversation,
                .user_message_id = made.user_message.id,
                .message_id = made.assistant_message.id,
                .created_at = at};
    made.events = {{model::EventKind::accepted, at, "{}"}};
    return made;
  }
  Accepted accepted(NewRun made) {
    auto outcome = get(&journal::Journal::accept, std::move(made));
    if (!std::holds_alternative<Accepted>(outcome)) check_failed("the run is accepted", __FILE__, __LINE__);
    return std::get<Accepted>(std::move(outcome));
  }
  Accepted accepted(model::TenantId tenant, model::ConversationId conversation, Timestamp at = {6000}) {
    return accepted(a_run(tenant, conversation, at));
  }
  // The append that ends the run with these words.
  Append the_end(const Accepted& begun, std::string answer = "It is so.") {
    model::Message message{.id = begun.run.message_id,
                           .conversation_id = begun.run.conversation_id,
                           .role = model::Role::assistant,
                           .content = std::move(answer),
                           .usage = model::Usage{3, 4},
                           .created_at = begun.run.created_at};
    const Timestamp at{begun.run.created_at.ms + 500};
    return {.run = begun.run.id,
            .epoch = begun.run.epoch,
            .head = begun.run.head,
            .events = {{model::EventKind::text, at, message.content},
                       {model::EventKind::completed, at, model::to_json(message)}},
            .commit_class = CommitClass::boundary,
            .state = model::RunState::completed,
            .assistant_message = message};
  }

 protected:
  // `Params` are those of an operation, `start` calls it.
  template <typename... Params, typename Start>
  AnswerOf<Params...> wait_for(Start start) {
    using Answer = AnswerOf<Params...>;
    // On the heap: an answer that comes too late must not write into a stack frame that is gone.
    const auto answer = std::make_shared<std::optional<Answer>>();
    start([answer](Answer result) { answer->emplace(std::move(result)); });
    EXPECT_FALSE(answer->has_value()) << "answered from inside the call";
    if (!loop_.run_until([&] { return answer->has_value(); })) check_failed("the store answers", __FILE__, __LINE__);
    return std::move(**answer);
  }
  // The part of the store that an operation belongs to.
  Store& part(Store* /*itself*/) { return *store_; }
  journal::Journal& part(journal::Journal* /*of it*/) { return *store_; }
  Nodes& part(Nodes* /*of it*/) { return store_->nodes(); }

  WaitingLoop loop_;
  world::FakeEntropy entropy_;
  world::IdSource ids_;
  std::unique_ptr<Store> store_;
};

}  // namespace sluice::store
