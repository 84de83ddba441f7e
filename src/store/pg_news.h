// What nodes tell each other of their commits: one NOTIFY of a few thousand bytes, lost without harm.
//
// Its spelling: the node that speaks, then letters for what there is (m: mail, h: a run that is held), then the runs
// that moved, or * when they are too many to name. With the letter w these have not moved: the node follows them, and
// wants to hear when they do. Ids are ULIDs, 26 characters each.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/model.h"

namespace sluice::store {

struct PgNews {
  model::NodeId from;
  bool has_mail = false;
  bool has_held = false;
  bool is_wish = false;
  bool all = false;  // more than are named
  std::vector<model::RunId> runs;

  bool empty() const { return !has_mail && !has_held && !all && runs.empty(); }
  std::string spelt() const;
  // Words that are not ours say nothing.
  static PgNews read(std::string_view spelling);
};

}  // namespace sluice::store
