// The servers that share one PostgreSQL database: who lives, mail, held runs, and news of each other's commits.
//
// One thread of its own with two sessions, one that asks and one that listens, so that a beat never waits behind a
// large commit. How long a node is silent is timed here, by changes of its row: no wall clock has a part in it.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

#include "store/beats.h"
#include "store/pg_news.h"
#include "store/pg_session.h"
#include "store/sql_work.h"

namespace sluice::store {

class PgNodes final : public Nodes {
 public:
  PgNodes(std::string url, model::NodeId self, world::Loop& loop, LoopPoster& poster);
  ~PgNodes() override;
  PgNodes(const PgNodes&) = delete;
  PgNodes& operator=(const PgNodes&) = delete;

  model::NodeId self() const override { return self_; }
  void beat(NodeFigures figures, int64_t forget_ms, Done<std::vector<SeenNode>> done) override;
  void leave(Done<Unit> done) override;
  void agree(std::string name, std::string value, Done<std::string> done) override;
  void tell(NodeNews* news) override { *news_ = news; }
  void follow(std::vector<model::RunId> runs) override;
  void post(Mail mail, Done<Unit> done) override;
  void inbox(Done<std::vector<Mail>> done) override;
  void answer(model::MailId id, std::string body, Done<Unit> done) override;
  void answers(Done<std::vector<MailAnswer>> done) override;
  void withdraw(model::MailId id, Done<Unit> done) override;
  void held_elsewhere(Done<std::vector<HeldElsewhere>> done) override;
  void claim(std::vector<HeldRun> wanted, Done<std::vector<model::Run>> done) override;
  void end_sessions(model::NodeId dead) override;

  // Is there another node, by the last beat?
  const std::atomic<bool>& others() const { return others_; }
  // Called on the loop's thread with what other nodes follow.
  void on_wish(Callback<void(PgNews)> heed) { *heed_ = std::move(heed); }

 private:
  class Asking;
  template <typename T, typename Ask>
  class Question;

  // May it be asked again when nobody knows whether it was done?
  enum class Repeat : uint8_t { yes, no };
  template <typename T, typename Ask>
  void submit(Done<T> done, Ask ask, Repeat repeat = Repeat::yes);
  Result<std::unique_ptr<PgSession>> connect(std::string beginning) const;
  void run();
  void wait();
  void work_off();
  void attempt(Asking& question);
  void listen();
  void hear();
  void pass_on(PgNews news);

  const std::string url_;
  const model::NodeId self_;
  world::Loop& loop_;
  LoopPoster& poster_;
  std::shared_ptr<NodeNews*> news_;  // shared with news under way; read and written on the loop's thread only
  std::shared_ptr<Callback<void(PgNews)>> heed_;  // likewise
  std::atomic<bool> others_{false};

  // The thread's own.
  std::unique_ptr<PgSession> session_;
  std::unique_ptr<PgSession> listener_;
  bool was_listening_ = false;
  std::vector<model::MailId> given_;  // answers that were given, and may go
  Beats beats_;

  int wake_;  // an eventfd
  std::mutex mutex_;
  std::deque<std::unique_ptr<Asking>> waiting_;  // guarded by mutex_
  std::vector<model::RunId> wished_;             // guarded by mutex_: followed, and the others not yet told
  bool stopping_ = false;                        // guarded by mutex_
  std::thread thread_;
};

}  // namespace sluice::store
