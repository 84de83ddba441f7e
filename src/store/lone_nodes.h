// The nodes of a store that only one server can use.
#pragma once

#include "store/questions.h"
#include "world/world.h"

namespace sluice::store {

class LoneNodes final : public Nodes {
 public:
  LoneNodes(model::NodeId self, world::Loop& loop) : self_(self), loop_(loop), started_at_(loop.now()) {}

  model::NodeId self() const override { return self_; }
  void beat(NodeFigures figures, int64_t /*forget_ms*/, Done<std::vector<SeenNode>> done) override {
    tell_later(std::vector{SeenNode{self_, started_at_, 0, std::move(figures)}}, std::move(done));
  }
  void leave(Done<Unit> done) override { tell_later(Unit{}, std::move(done)); }
  // Nobody is there to disagree, and the only one may change its mind.
  void agree(std::string /*name*/, std::string value, Done<std::string> done) override {
    tell_later(std::move(value), std::move(done));
  }
  void tell(NodeNews* /*news*/) override {}
  void follow(std::vector<model::RunId> /*runs*/) override {}
  void post(Mail /*mail*/, Done<Unit> done) override { tell_later(Unit{}, std::move(done)); }
  void inbox(Done<std::vector<Mail>> done) override { tell_later(std::vector<Mail>(), std::move(done)); }
  void answer(model::MailId /*id*/, std::string /*body*/, Done<Unit> done) override {
    tell_later<Unit>(Error{ErrorKind::not_found, "nobody asked"}, std::move(done));
  }
  void answers(Done<std::vector<MailAnswer>> done) override { tell_later(std::vector<MailAnswer>(), std::move(done)); }
  void withdraw(model::MailId /*id*/, Done<Unit> done) override { tell_later(Unit{}, std::move(done)); }
  void held_elsewhere(Done<std::vector<HeldElsewhere>> done) override {
    tell_later(std::vector<HeldElsewhere>(), std::move(done));
  }
  void claim(std::vector<HeldRun> /*wanted*/, Done<std::vector<model::Run>> done) override {
    tell_later(std::vector<model::Run>(), std::move(done));
  }

 private:
  template <typename T>
  void tell_later(Result<T> result, Done<T> done) {
    loop_.post([result = std::move(result), done = std::move(done)]() mutable { done(std::move(result)); });
  }
  template <typename T>
  void tell_later(T value, Done<T> done) {
    tell_later(Result<T>(std::move(value)), std::move(done));
  }

  model::NodeId self_;
  world::Loop& loop_;
  Timestamp started_at_;
};

}  // namespace sluice::store
