// The store behind open_postgres(). Runs are written by a thread of their own (PgHot), records by another, others read,
// and one more keeps in touch with the other servers (PgNodes); the loop's thread asks.
#pragma once

#include "store/database.h"
#include "store/pg_hot.h"
#include "store/pg_nodes.h"
#include "store/pg_tidying.h"
#include "store/pg_write_side.h"
#include "store/unpacked_rows.h"

namespace sluice::store {

class PostgresStore final : public Store {
 public:
  static Result<std::unique_ptr<Store>> open(PostgresOptions options, world::Loop& loop, world::Metrics& metrics);

  void create_conversation(NewConversation made, Done<ConversationOutcome> done) override;
  void accept(NewRun made, Done<AcceptOutcome> done) override;
  void append(Append append, Done<CommittedBatch> done) override;
  void take_over(model::RunId run, model::Epoch seen, Done<model::Run> done) override;
  void read(model::RunId run, model::Position after, std::size_t bytes_max, Done<JournalPage> done) override;
  void unfinished_runs(Done<UnfinishedRuns> done) override;
  void carried_runs(Done<std::vector<model::RunId>> done) override;

  Database& database() override { return database_; }
  Nodes& nodes() override { return nodes_; }

  void reopen(Done<Unit> done) override;
  bool needs_reopening() const override { return writer_.broken() || hot_.broken(); }
  bool broken() const override;
  void tidy_up(Timestamp now, Done<int> done) override;

 private:
  // Where readers find it.
  class Address final : public ReadSide {
   public:
    // `setup`: statements at the start of each session.
    explicit Address(std::string url, model::NodeId node, std::string setup = "")
        : url_(std::move(url)), node_(node), setup_(std::move(setup)) {}
    Result<std::shared_ptr<Connection>> open_reader() const override;

   private:
    std::string url_;
    model::NodeId node_;
    std::string setup_;
  };

  struct Opened {
    std::unique_ptr<PgWriteSide> side;
    ReadConnections readers;
  };
  PostgresStore(Opened opened, const PostgresOptions& options, world::Loop& loop, world::Metrics& metrics);

  UnpackedRows unpacked_rows_;  // the readers'
  PgTidySide tidy_side_;
  std::unique_ptr<PgWriteSide> side_;
  int64_t silent_ms_max_;
  Address address_;
  Address search_address_;
  LoopPoster poster_;
  Writer writer_;
  Readers readers_;
  Readers searchers_;
  Database database_;
  PgNodes nodes_;
  PgHot hot_;
  Tidying tidying_;
};

}  // namespace sluice::store
