// An agent that says what a test lets it say, and readers that can be slow.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"

namespace sluice::engine {

// Work is remembered here; the test plays the agent.
class ScriptedDispatcher final : public dispatch::Dispatcher {
 public:
  explicit ScriptedDispatcher(world::Loop& loop) : loop_(loop) {}

  struct Job {
    dispatch::Dispatch dispatch;
    dispatch::DispatchListener* listener;  // null once the work was dropped
    bool is_suspended = false;
    int times_suspended = 0;
  };

  std::unique_ptr<dispatch::Work> dispatch(dispatch::Dispatch dispatch, dispatch::DispatchListener& listener) override {
    jobs.push_back(std::make_shared<Job>(Job{std::move(dispatch), &listener}));
    return std::make_unique<JobWork>(*this, jobs.back());
  }
  bool can_resume(const model::Agent&, std::string_view told_text) const override {
    return resumable || told_text.empty();
  }
  bool can_reattach(std::string_view mark) const override { return reattaches && !mark.empty(); }
  bool reads_history(const model::Agent&) const override { return wants_history; }

  void release(model::ConversationId conversation) override { released.push_back(conversation); }
  void forget_parked(model::RunId run, model::ConversationId) override { forgotten.push_back(run); }
  void list_parked(Callback<void(std::vector<dispatch::ParkedRun>)> done) override {
    unlisted.push_back(std::move(done));
    loop_.defer([this] {
      if (lists_at_once) list_now();
    });
  }
  void list_workspaces(Callback<void(std::vector<dispatch::KeptWorkspace>)> done) override { done(workspaces); }
  void count_workspace(const dispatch::KeptWorkspace& kept, model::TenantId tenant) override {
    counted.emplace_back(kept.conversation, tenant);
  }
  void remove_workspace(model::ConversationId conversation) override {
    std::erase_if(workspaces, [&](const auto& kept) { return kept.conversation == conversation; });
    removed.push_back(conversation);
  }
  bool keeps_boxes() const override { return has_boxes; }
  int warm_available() const override { return 3; }

  int working() const {
    int count = 0;
    for (const auto& job : jobs) count += job->listener != nullptr ? 1 : 0;
    return count;
  }

  // The proof that stopped work is gone, when it was not given at once.
  void prove_gone() {
    for (auto& gone : std::exchange(unproven, {})) gone();
  }

  // Answers with what it has kept, where that was not answered at once.
  void list_now() {
    for (auto& done : std::exchange(unlisted, {})) done(parked);
  }

  std::vector<std::shared_ptr<Job>> jobs;
  bool resumable = false;
  bool reattaches = false;
  bool wants_history = false;
  bool proves_at_once = true;
  bool has_boxes = true;
  std::vector<Callback<void()>> unproven;
  std::vector<model::ConversationId> released;
  std::vector<dispatch::ParkedRun> parked;
  bool lists_at_once = true;
  std::vector<Callback<void(std::vector<dispatch::ParkedRun>)>> unlisted;
  std::vector<model::RunId> forgotten;
  std::vector<dispatch::KeptWorkspace> workspaces;
  std::vector<std::pair<model::ConversationId, model::TenantId>> counted;
  std::vector<model::ConversationId> removed;
  std::vector<std::string> acknowledged;  // marks
  int went_on = 0;
  bool is_held_back = false;
  std::vector<model::ClientResult> results;  // of the last time

 private:
  world::Loop& loop_;
  struct JobWork final : dispatch::Work {
    JobWork(ScriptedDispatcher& owner, std::shared_ptr<Job> job) : owner_(owner), job_(std::move(job)) {}
    ~JobWork() override { job_->listener = nullptr; }
    void stop(Callback<void()> gone) override {
      job_->listener = nullptr;
      if (owner_.proves_at_once) return owner_.loop_.defer(std::move(gone));
      owner_.unproven.push_back(std::move(gone));
    }
    void go_on(std::vector<model::ClientResult> given) override { ++owner_.went_on, owner_.results = given; }
    void suspend(bool suspended) override {
      job_->times_suspended += suspended && !job_->is_suspended ? 1 : 0;
      job_->is_suspended = suspended;
    }
    void hold_back(bool held) override { owner_.is_held_back = held; }
    void written(std::string_view mark) override { owner_.acknowledged.emplace_back(mark); }
    ScriptedDispatcher& owner_;
    std::shared_ptr<Job> job_;
  };
};

// Someone who reads a stream and remembers every byte.
class RememberingReader final : public Reader {
 public:
  void take(SharedBytes lines) override {
    text += *lines;
    is_full = is_full || fills_at_each_take;
  }
  bool full() const override { return is_full; }
  void end() override { ended = true; }
  void lose(const Error& why) override { lost = why.what; }

  std::string text;
  bool is_full = false;
  bool fills_at_each_take = false;
  bool ended = false;
  std::string lost;
};

}  // namespace sluice::engine
