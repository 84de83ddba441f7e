// Reports failures: for a person on standard error and, with --json, for a program on standard output.
#pragma once

#include <string_view>

#include "cli/console.h"

namespace sluice::cli {

enum class Form : uint8_t { human, json };

void report_error(Console& console, Form form, std::string_view what);
// Reports the problem that the server answered.
void report_problem(Console& console, Form form, int status, std::string_view body);

}  // namespace sluice::cli
