// The workflows of simulated scenarios: chains of agent runs, model calls and conditions, made from a seed.
#pragma once

#include <string>

#include "tests/sim/chance.h"

namespace sluice::sim {

// A definition as JSON. Each block's prompt names a number, so its run follows a script (script.h).
std::string workflow_definition(Chance& chance);

}  // namespace sluice::sim
