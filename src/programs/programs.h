// Agent programs (program_work.h): other people's agents, such as Claude Code or Codex, each started as a process in
// the run's sandbox and spoken to over its standard input and output.
#pragma once

#include "programs/program_model.h"  // IWYU pragma: export
#include "programs/program_work.h"   // IWYU pragma: export
