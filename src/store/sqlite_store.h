// The store behind open_sqlite(): one thread writes, others read, the loop's thread asks. Tests and the simulation make
// it of other parts (simulated_store.h), and run the same code.
#pragma once

#include "store/database.h"
#include "store/lone_nodes.h"
#include "store/on_disk.h"
#include "store/sqlite_tidying.h"
#include "store/sqlite_write_side.h"
#include "store/unpacked_rows.h"

namespace sluice::store {

class SqliteStore : public Store {
 public:
  static Result<std::unique_ptr<Store>> open(SqliteWriting options, int reader_count, world::Loop& loop,
                                             world::Metrics& metrics);

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
  bool needs_reopening() const override { return writer_.broken(); }
  bool broken() const override { return writer_.unwritable(); }
  void tidy_up(Timestamp now, Done<int> done) override;

 protected:
  struct Parts {
    OwnedFd lock;  // held for as long as the store lives
    std::unique_ptr<WriteSide> side;
    OpenRuns* open_runs;  // of the side
    std::unique_ptr<ReadSide> file;
    ReadConnections readers;
    int64_t search_ms_max = Database::search_ms_max_by_default;
    Executors executors = thread_of_its_own;
    bool is_alone = true;  // no other server writes to the database
  };
  SqliteStore(Parts parts, world::Loop& loop, world::Metrics& metrics);

  LoopPoster& poster() { return poster_; }

 private:
  class AcceptWork;
  class AppendWork;

  // Where readers find it.
  class File final : public ReadSide {
   public:
    explicit File(std::string path) : path_(std::move(path)) {}
    Result<std::shared_ptr<Connection>> open_reader() const override;

   private:
    std::string path_;
  };

  world::Loop& loop_;
  OwnedFd lock_;
  const bool is_alone_;
  // Where the journals of the runs are that this server carries on, as far as it was answered. Only where it is alone:
  // what other servers add is not known here. The loop's thread's own.
  std::unordered_map<model::RunId, JournalRows> open_rows_;
  UnpackedRows unpacked_rows_;  // the readers'
  SqliteTidySide tidy_side_;
  std::unique_ptr<WriteSide> side_;
  OpenRuns& open_runs_;  // the writer's
  std::unique_ptr<ReadSide> file_;
  LoopPoster poster_;
  Writer writer_;
  Readers readers_;
  Readers searchers_;
  Database database_;
  LoneNodes nodes_;
  Tidying tidying_;
};

}  // namespace sluice::store
