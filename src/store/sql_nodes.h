// The servers that share one SQLite database, which exists only in a simulation of several (simulated_database.h): what
// PgNodes does with PostgreSQL, without news: those are the database's to give to news() of whom they concern.
// Everything happens on the loop's thread.
#pragma once

#include <unordered_map>

#include "store/beats.h"
#include "store/database.h"
#include "store/open_runs.h"

namespace sluice::store {

class SqlNodes final : public Nodes {
 public:
  // `writer` is its own: who beats does not wait for those who write runs, and goes on when they cannot.
  SqlNodes(Database& database, Writer& writer, OpenRuns& open_runs, model::NodeId self, world::Loop& loop);

  // The tables that it wants, which no SQLite database of a lone server has.
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
  void write(Done<T> done, Attempt attempt);

  Database& database_;
  Writer& writer_;
  OpenRuns& open_runs_;
  const model::NodeId self_;
  world::Loop& loop_;
  NodeNews* news_ = nullptr;
  std::unordered_map<model::RunId, int64_t> followed_;  // until when, by the loop's clock
  std::vector<model::MailId> given_;                    // answers that were given, and may go
  Beats beats_;
};

}  // namespace sluice::store
