#include "cli/report.h"

#include "base/json.h"
#include "cli/cli.h"
#include "cli/render.h"

namespace sluice::cli {

void report_error(Console& console, Form form, std::string_view what) {
  console.err("sluice: " + std::string(what) + "\n");
  if (form == Form::json) console.out(error_json(what) + "\n");
}

void report_problem(Console& console, Form form, int status, std::string_view body) {
  console.err(problem_text(status, body));
  if (form == Form::human) return;
  const bool is_json = bool(json::Document::parse(body));
  console.out((is_json ? std::string(body) : error_json("the server answered " + std::to_string(status))) + "\n");
}

}  // namespace sluice::cli
