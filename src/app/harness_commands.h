// `sluice harness install|list|check`: agent programs from the command line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/app.h"
#include "app/config.h"

namespace sluice::app {

inline constexpr std::string_view harness_help =
    "usage: sluice harness install [TYPE[@VERSION]…] [--dir DIR] [--json] [flags of serve]\n"
    "       sluice harness list [--json] [flags of serve]\n"
    "       sluice harness check [TYPE…] [--json] [flags of serve]\n\n"
    "The agent programs that runs use: claude-code, codex, opencode, grok-build. install fetches them by npm into\n"
    "harness.dir, at VERSION or at the version that was tested; without a TYPE, all of them. list says which are "
    "here,\n"
    "and their versions. check starts each in a sandbox, as runs do, and says what is wrong. A server that runs uses\n"
    "what is installed from the next run on.\n\n"
    "  sluice harness install codex opencode\n"
    "  sluice harness install claude-code@2.1.326\n"
    "  sluice harness check\n\n";

struct HarnessOrder {
  std::string verb;
  std::vector<std::string> types;
};

// Takes the order out of `words`; what is left is configuration.
HarnessOrder take_harness_order(std::vector<std::string>& words);

// Gives the exit code.
int run_harness(const HarnessOrder& order, const Config& config, Form form);

}  // namespace sluice::app
