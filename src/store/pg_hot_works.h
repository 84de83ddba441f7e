// The operations that wait for PgHot, each with its answer.
#pragma once

#include "base/check.h"
#include "store/pg_hot.h"

namespace sluice::store {

class PgHot::AcceptWork final : public HotWork {
 public:
  AcceptWork(NewRun made, Done<AcceptOutcome> done, Committer committer)
      : job_{std::move(made), std::nullopt}, done_(std::move(done)), committer_(committer) {}
  Names names() const override {
    const auto& made = job_.made;
    Names found{name_of_id(made.run.conversation_id.ulid), name_of_id(made.run.id.ulid)};
    if (made.idempotency) found.push_back(name_of_key(*made.idempotency));
    if (made.agui) found.push_back(name_of_id(made.run.tenant_id.ulid) + made.agui->thread_id);
    for (const auto& file : made.attached) found.push_back(name_of_id(file.ulid));
    return found;
  }
  void join(Group& group) override { group.accepts.push_back(&job_); }
  void fail(Error error) override { job_.result.emplace(std::move(error)); }
  void answer() override {
    SLUICE_CHECK(job_.result);
    if (*job_.result) {
      if (auto* accepted = std::get_if<Accepted>(&job_.result->value())) {
        accepted->events = committer_(std::move(job_.made.events), {1});
      }
    }
    done_(*std::move(job_.result));
  }

 private:
  AcceptJob job_;
  Done<AcceptOutcome> done_;
  Committer committer_;
};

class PgHot::AppendWork final : public HotWork {
 public:
  AppendWork(Append append, Done<CommittedBatch> done, Committer committer)
      : job_{std::move(append)}, done_(std::move(done)), committer_(committer) {}
  Names names() const override {
    Names found{name_of_id(job_.append.run.ulid)};
    if (job_.append.agui) found.push_back(name_of_id(job_.append.agui->tenant_id.ulid) + job_.append.agui->thread_id);
    return found;
  }
  void join(Group& group) override { group.appends.push_back(&job_); }
  void fail(Error error) override { job_.refused = std::move(error); }
  void answer() override {
    if (job_.refused) return done_(*std::move(job_.refused));
    SLUICE_CHECK(job_.is_written);  // only written events are committed
    done_(committer_(std::move(job_.append.events), {job_.append.head.value + 1}));
  }

 private:
  AppendJob job_;
  Done<CommittedBatch> done_;
  Committer committer_;
};

class PgHot::ConversationWork final : public HotWork {
 public:
  ConversationWork(NewConversation made, Done<ConversationOutcome> done)
      : job_{std::move(made), std::nullopt}, done_(std::move(done)) {}
  Names names() const override {
    Names found{name_of_id(job_.made.conversation.id.ulid)};
    if (job_.made.idempotency) found.push_back(name_of_key(*job_.made.idempotency));
    return found;
  }
  void join(Group& group) override { group.conversations.push_back(&job_); }
  void fail(Error error) override { job_.result.emplace(std::move(error)); }
  void answer() override {
    SLUICE_CHECK(job_.result);
    done_(*std::move(job_.result));
  }

 private:
  ConversationJob job_;
  Done<ConversationOutcome> done_;
};

class PgHot::TakeOverWork final : public HotWork {
 public:
  TakeOverWork(model::RunId run, model::Epoch seen, Done<model::Run> done)
      : job_{run, seen, std::nullopt}, done_(std::move(done)) {}
  Names names() const override { return {name_of_id(job_.run.ulid)}; }
  void join(Group& group) override { group.takeovers.push_back(&job_); }
  void fail(Error error) override { job_.result.emplace(std::move(error)); }
  void answer() override {
    SLUICE_CHECK(job_.result);
    done_(*std::move(job_.result));
  }

 private:
  TakeOverJob job_;
  Done<model::Run> done_;
};

class PgHot::WishWork final : public HotWork {
 public:
  explicit WishWork(PgNews wish) : wish_(std::move(wish)) {}
  Names names() const override { return {}; }
  void join(Group& group) override { group.wishes.push_back(&wish_); }
  void fail(Error /*error*/) override {}  // it will be wished again
  void answer() override {}

 private:
  PgNews wish_;
};

class PgHot::ReopenWork final : public HotWork {
 public:
  explicit ReopenWork(Done<Unit> done) : done_(std::move(done)) {}
  Names names() const override { return {}; }
  void join(Group& /*group*/) override {}
  bool is_reopening() const override { return true; }
  void fail(Error error) override { result_ = std::move(error); }
  void answer() override { done_(std::move(result_)); }

 private:
  Done<Unit> done_;
  Result<Unit> result_ = Unit{};
};

}  // namespace sluice::store
