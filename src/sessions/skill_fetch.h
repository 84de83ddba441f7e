// The skills of one dispatch, unpacked where a sandbox can see them. A bundle is fetched once and kept by
// its digest, so the next dispatch that names it finds it there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/callback.h"
#include "base/result.h"
#include "dispatch/dispatch.h"
#include "runs/runs.h"
#include "sandbox/sandbox.h"
#include "sessions/file_work.h"
#include "workspace/workspace.h"
#include "world/world.h"

namespace sluice::sessions {

class SkillFetch {
 public:
  struct Plan {
    std::string bundles_dir;  // the directory they are kept in
    workspace::Owner owner;
    std::string mark;  // of the run
    int64_t step_ms_max = 0;
  };
  // `dispatch`, `workers` and `loop` must outlive this. `done` comes once, never from inside: the directories
  // to bind, or which skill cannot be used and why. Dropping this drops the question.
  SkillFetch(Plan plan, const dispatch::Dispatch& dispatch, world::Workers& workers, world::Loop& loop,
             Callback<void(Result<std::vector<sandbox::Bind>>)> done);

 private:
  void look_up(const dispatch::SkillUse& skill);
  void fetch(const dispatch::SkillUse& skill);
  void unpack(const dispatch::SkillUse& skill, std::string bundle);
  void take(const dispatch::SkillUse& skill);
  void next();
  void fail(const dispatch::SkillUse& skill, const std::string& why);
  void finish(Result<std::vector<sandbox::Bind>> binds);

  const Plan plan_;
  const dispatch::Dispatch& dispatch_;
  world::Workers& workers_;
  Callback<void(Result<std::vector<sandbox::Bind>>)> done_;
  std::vector<sandbox::Bind> binds_;
  runs::Lifeline lifeline_;
  FileWork file_work_;
};

}  // namespace sluice::sessions
