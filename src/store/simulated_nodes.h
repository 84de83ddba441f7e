// The servers that share one SQLite database, which exists only in a simulation of several (simulated_database.h): what
// PgNodes does with PostgreSQL. The database sends the notifications itself, to news(). Everything happens on the
// loop's thread.
#pragma once

#include <unordered_map>

#include "store/beats.h"
#include "store/database.h"

namespace sluice::store {

class SimulatedServer;

class SimulatedNodes final : public Nodes {
 public:
  // `writer` is its own: heartbeats do not wait for writes of runs, and continue when these fail.
  SimulatedNodes(Database& database, Writer& writer, SimulatedServer& server);

  // The tables that it needs, which no SQLite database of a lone server has.
  static const char* schema();

  model::NodeId self() const override { return self_; }
  void beat(NodeFigures figures, int64_t forget_ms, Done<std::vector<SeenNode>> done) override;
  void leave(Done<Unit> done) override;
  void agree(std::string name, std::string value, Done<std::string> done) override;
  void tell(NodeNews* news) override { news_ = news; }
  void follow(std::vector<model::RunId> runs) override;
  void post(Mail mail, Done<Unit> done) override;
  void inbox(Done<std::vector<Mail>> done) override;
  void answer(model::MailId id, std::string body, Done<Unit> done) override;
  void answers(Done<std::vector<MailAnswer>> done) override;
  void withdraw(model::MailId id, Done<Unit> done) override;
  void held_elsewhere(Done<std::vector<HeldElsewhere>> done) override;
  void claim(std::vector<HeldRun> wanted, Done<std::vector<model::Run>> done) override;

  NodeNews* news() const { return news_; }
  bool follows(model::RunId run) const;

 private:
  template <typename T, typename Attempt>
  void write(Done<T> done, Attempt attempt, Work::Class work_class = Work::Class::flow);
  int64_t beat_time();

  Database& database_;
  Writer& writer_;
  SimulatedServer& server_;
  const model::NodeId self_;
  world::Loop& loop_;
  NodeNews* news_ = nullptr;
  std::unordered_map<model::RunId, int64_t> followed_;  // until when, by the loop's clock
  std::vector<model::MailId> given_;                    // answers that were given, and may go
  int64_t beat_count_ = 0;
  Beats beats_;
};

}  // namespace sluice::store
