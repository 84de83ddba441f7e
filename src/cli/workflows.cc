// Commands about workflows.
#include <fstream>
#include <sstream>

#include "cli/cli.h"
#include "cli/requests.h"

namespace sluice::cli {
namespace {

constexpr Column workflow_columns[] = {
    {"ID", "id"}, {"NAME", "name"}, {"UPDATED", "updated_at"}, {"DESCRIPTION", "description"}};

// The workspace is the tenant's only one: the same number. Empty when the server did not say; then `code` is set.
std::optional<std::string> workspace_path(Context& context, int& code) {
  constexpr std::string_view prefix = "tnt_";
  const auto reply = context.remote.request(As::service, "GET", "/v1/integration/self", "");
  if (refused(context, reply, code)) return std::nullopt;
  const auto document = json::Document::parse(reply.value().body);
  const auto tenant = document ? document.value().root().find("tenant") : std::nullopt;
  const auto id = tenant ? text_of(*tenant, "id") : "";
  if (id.starts_with(prefix)) return "/api/workspaces/wsp_" + path_part(id.substr(prefix.size()));
  code = complain(context, "the server did not say which tenant the key belongs to");
  return std::nullopt;
}

// A workflow by its id or its name.
std::optional<json::Document> find_workflow(Context& context, const std::string& workspace, const std::string& wanted,
                                            int& code) {
  if (wanted.starts_with("wfl_")) {
    const auto reply = context.remote.request(As::service, "GET", workspace + "/workflows/" + path_part(wanted), "");
    if (refused(context, reply, code)) return std::nullopt;
    auto document = json::Document::parse(reply.value().body);
    if (document) return std::move(document).take();
  }
  for (std::string after; !wanted.starts_with("wfl_");) {
    const auto reply = context.remote.request(As::service, "GET", workspace + "/workflows?limit=100" + after, "");
    if (refused(context, reply, code)) return std::nullopt;
    const auto page = json::Document::parse(reply.value().body);
    if (!page) break;
    std::optional<json::Document> found;
    page.value().root().find("data").value_or(json::Value()).each_element([&](json::Value workflow) {
      if (text_of(workflow, "name") != wanted) return;
      if (auto document = json::Document::parse(workflow.to_text())) found.emplace(std::move(document).take());
    });
    if (found) return found;
    const auto next = text_of(page.value().root(), "next_cursor");
    if (next.empty()) break;
    after = "&starting_after=" + path_part(next);
  }
  code = complain(context, "there is no workflow \"" + wanted + "\"");
  return std::nullopt;
}

// "NAME=VALUE" by the types that the definition gives its inputs. What it does not have the server will refuse.
Result<std::string> inputs_of(json::Value workflow, const std::vector<std::string>& given) {
  const auto definition = workflow.find("definition").value_or(json::Value());
  const auto type_of = [&](const std::string& name) {
    std::string type = "text";
    definition.find("inputs").value_or(json::Value()).each_element([&](json::Value input) {
      if (text_of(input, "name") == name) type = text_of(input, "type");
    });
    return type;
  };
  std::string body;
  json::Writer writer(body);
  writer.begin_object().key("inputs").begin_object();
  for (const auto& one : given) {
    const auto equals = one.find('=');
    if (equals == std::string::npos || equals == 0) {
      return Error{ErrorKind::invalid, "--input must be NAME=VALUE, not \"" + one + "\""};
    }
    const auto name = one.substr(0, equals);
    const auto value = one.substr(equals + 1);
    writer.key_escaped(name);
    if (type_of(name) == "text") {
      writer.string(value);
      continue;
    }
    const auto parsed = json::Document::parse(value);
    if (!parsed) return Error{ErrorKind::invalid, "--input " + name + " must be JSON, not \"" + value + "\""};
    writer.raw(parsed.value().root().to_text());
  }
  writer.end_object().end_object();
  return body;
}

// Whether the last line says that the run succeeded.
int outcome_of(std::string_view lines) {
  while (lines.ends_with('\n')) lines.remove_suffix(1);
  const auto last = json::Document::parse(lines.substr(lines.rfind('\n') + 1));
  return last && text_of(last.value().root(), "status") == "succeeded" ? exit_ok : exit_failed;
}

}  // namespace

int list_workflows(Context& context) {
  int code = exit_ok;
  const auto workspace = workspace_path(context, code);
  return workspace ? list_table(context, As::service, *workspace + "/workflows", workflow_columns) : code;
}

int show_workflow(Context& context) {
  int code = exit_ok;
  const auto workspace = workspace_path(context, code);
  if (!workspace) return code;
  const auto found = find_workflow(context, *workspace, context.operand(0), code);
  if (!found) return code;
  return show(context, As::service, "GET", *workspace + "/workflows/" + path_part(text_of(found->root(), "id")));
}

int push_workflow(Context& context) {
  std::ifstream file(context.operand(0), std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  if (!file) return complain(context, context.operand(0) + " cannot be read");
  const auto body = bytes.str();
  if (const auto document = json::Document::parse(body); !document) {
    return complain(context, context.operand(0) + " is not JSON: " + document.error().what);
  }
  int code = exit_ok;
  const auto workspace = workspace_path(context, code);
  if (!workspace) return code;
  const auto show_it = [](json::Value workflow) { return fields_of(workflow); };
  auto reply = context.remote.request(As::service, "POST", *workspace + "/workflows", body);
  if (!reply || reply.value().status != 409) return print_reply(context, reply, show_it);
  const auto problem = json::Document::parse(reply.value().body);
  const auto other = problem ? text_of(problem.value().root(), "conflicting_resource_id") : "";
  if (other.empty()) return print_reply(context, reply, show_it);
  return request(context, As::service, "PATCH", *workspace + "/workflows/" + path_part(other), body, show_it);
}

int run_workflow(Context& context) {
  int code = exit_ok;
  const auto workspace = workspace_path(context, code);
  if (!workspace) return code;
  const auto found = find_workflow(context, *workspace, context.operand(0), code);
  if (!found) return code;
  const auto body = inputs_of(found->root(), context.arguments.all("--input"));
  if (!body) return complain(context, body.error().what);
  const auto path = *workspace + "/workflows/" + path_part(text_of(found->root(), "id")) + "/runs" +
                    (context.arguments.has("--extended") ? "?profile=extended" : "");
  std::string last;
  const auto reply = context.remote.stream("POST", path, body.value(), [&](std::string_view piece) {
    context.console.out(piece);
    last += piece;
    const auto cut = last.rfind('\n', last.size() < 2 ? 0 : last.size() - 2);
    if (cut != std::string::npos) last.erase(0, cut + 1);
  });
  if (refused(context, reply, code)) return code;
  return outcome_of(last);
}

int cancel_workflow(Context& context) {
  int code = exit_ok;
  const auto workspace = workspace_path(context, code);
  if (!workspace) return code;
  return show(context, As::service, "POST", *workspace + "/workflow-runs/" + path_part(context.operand(0)) + "/cancel");
}

}  // namespace sluice::cli
