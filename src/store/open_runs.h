// The runs that are not over, as the writer's thread knows them: what an append must be checked
// against, without a look at the database.
//
// Changes hold from the moment they are made, for the operations after them in the same group; when
// the group is rolled back, so are they.
#pragma once

#include <optional>
#include <unordered_map>
#include <variant>
#include <vector>

#include "store/journal_rows.h"
#include "store/sql_connection.h"
#include "store/store.h"

namespace sluice::store {

struct OpenRun {
  int64_t number = 0;        // of its row
  int64_t conversation = 0;  // likewise
  int64_t message = 0;       // likewise, of the assistant message
  model::RunState state = model::RunState::accepted;
  model::Epoch epoch;
  JournalRows rows;
};

class OpenRuns {
 public:
  // Forgets all and reads the database: what the runs' rows say, and the journal after them.
  void load(Connection& db);

  const OpenRun* find(model::RunId run) const;
  // Where all their journals are.
  std::unordered_map<model::RunId, JournalRows> all_rows() const;
  void enter(model::RunId run, OpenRun open);
  void add_row(model::RunId run, int64_t number, uint64_t event_count);
  void set_state(model::RunId run, model::RunState state);
  void set_epoch(model::RunId run, model::Epoch epoch);
  void leave(model::RunId run);

  void keep_changes() { undo_.clear(); }
  void undo_changes();

 private:
  // What a run was before a change; nothing when it was not there.
  struct Former {
    model::RunState state;
    model::Epoch epoch;
    JournalRows::Mark mark;
  };
  struct Undo {
    model::RunId run;
    std::variant<std::monostate, Former, OpenRun> before;
  };
  OpenRun& changing(model::RunId run);

  std::unordered_map<model::RunId, OpenRun> runs_;
  std::vector<Undo> undo_;
};

}  // namespace sluice::store
