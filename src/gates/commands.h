// Rulings on lines of shell, with the account of what they cost. Own file: gates.h does not show how work is bounded,
// and tests of that bound need the account.
#pragma once

#include <string_view>

#include "gates/gates.h"
#include "gates/steps.h"

namespace sluice::gates {

// `rule_on_command` of gates.h within these steps. When they do not suffice, the ruling is `ask` wherever a rule on
// commands asks or denies, unless a rule that denies was found before.
Ruling rule_on_command(const model::Policy& policy, std::string_view command, Steps& steps);

}  // namespace sluice::gates
