// Commands about what a run did.
#include "cli/cli.h"
#include "cli/render.h"
#include "cli/requests.h"

namespace sluice::cli {
namespace {

constexpr Column step_columns[] = {
    {"STARTED", "startedAt"}, {"NAME", "name"}, {"STATUS", "status"}, {"MS", "durationMs"}, {"ARGUMENTS", "args"}};

std::string path_of(Context& context, std::string_view file) {
  return "/v1/runs/" + path_part(context.operand(0)) + std::string(file);
}

std::string result_text(json::Value result) {
  const auto message = result.find("message");
  if (const auto content = message ? message->find("content") : std::nullopt) return plain(*content) + "\n";
  if (const auto error = result.find("error"); error && !error->is_null()) return fields_of(*error);
  return "none yet: the run is " + plain(result.find("state").value_or(json::Value())) + "\n";
}

}  // namespace

int trace_run(Context& context) {
  const auto path = path_of(context, "/stream.jsonl");
  const auto reply =
      context.remote.stream("GET", path + (context.arguments.has("--extended") ? "?profile=extended" : ""), "",
                            [&](std::string_view bytes) { context.console.out(bytes); });
  int code = exit_ok;
  refused(context, reply, code);
  return code;
}

int list_run_steps(Context& context) {
  return request(context, As::service, "GET", path_of(context, "/steps.json"), "",
                 [](json::Value steps) { return table_of(steps, step_columns); });
}

int show_run_result(Context& context) {
  return request(context, As::service, "GET", path_of(context, "/result.json"), "", result_text);
}

}  // namespace sluice::cli
