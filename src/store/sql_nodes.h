// The servers that share one SQLite database, which exists only in a simulation of several (simulated_database.h): what
// PgNodes does with PostgreSQL, without news: those are the database's to give to news() of whom they concern.
// Everything happens on the loop's thread.
#pragma once

#include <unordered_map>

#include "store/beats.h"
#include "store/open_runs.h"
#include "store/sql_desk.h"

namespace sluice::store {

class SqlNodes final : public Nodes {
 public:
  // `writer` is its own: who beats does not wait for those who write runs, and goes on when they cannot.
  SqlNodes(SqlDesk& desk, Writer& writer, OpenRuns& open_runs, model::NodeId self, world::Loop& loop);

  // The tables that it wants, which no SQLite database of a lone server has.
  static const char* schema();

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

  NodeNews* news() const { return news_; }
  bool follows(model::RunId run) const;

 private:
  template <typename T, typename Attempt>
  void write(Answer<T> done, Attempt attempt);

  SqlDesk& desk_;
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
