// The nodes of MemoryStores on one disk.
#pragma once

#include <memory>
#include <unordered_map>

#include "store/memory_desk.h"

namespace sluice::store {

class MemoryNodes final : public Nodes {
 public:
  MemoryNodes(MemoryDisk& disk, MemoryDesk& desk, model::NodeId self);
  ~MemoryNodes() override;
  MemoryNodes(const MemoryNodes&) = delete;
  MemoryNodes& operator=(const MemoryNodes&) = delete;

  model::NodeId self() const override { return self_; }
  void beat(NodeFigures figures, int64_t forget_ms, Answer<std::vector<SeenNode>> done) override;
  void leave(Answer<Unit> done) override;
  void agree(std::string name, std::string value, Answer<std::string> done) override;
  void tell(NodeNews* news) override { news_ = news; }
  void follow(std::vector<model::RunId> runs) override;
  void post(Mail mail, Answer<Unit> done) override;
  void inbox(Answer<std::vector<Mail>> done) override;
  void answer(model::MailId id, std::string body, Answer<Unit> done) override;
  void answers(Answer<std::vector<MailAnswer>> done) override;
  void withdraw(model::MailId id, Answer<Unit> done) override;
  void held_elsewhere(Answer<std::vector<HeldElsewhere>> done) override;
  void claim(std::vector<HeldRun> wanted, Answer<std::vector<model::Run>> done) override;

  // This node wrote: those who follow the run are told, and everybody when it is taken, unless the disk loses its news.
  void moved(const model::Run& run);
  void taken(const model::Run& run);

 private:
  template <typename Tell>
  void tell_others(Tell tell, std::optional<model::RunId> followed = std::nullopt);
  bool follows(model::RunId run) const;
  bool is_mine(const Mail& mail);
  bool may_move(const model::Run& run);

  MemoryDisk& disk_;
  MemoryDesk& desk_;
  model::NodeId self_;
  NodeNews* news_ = nullptr;
  std::unordered_map<model::RunId, int64_t> followed_;  // until when, by the loop's clock
  std::shared_ptr<MemoryNodes*> alive_;                 // shared with the news under way
};

}  // namespace sluice::store
