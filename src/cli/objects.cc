// Repositories, skills, environments, executions and files.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/bytes.h"
#include "cli/cli.h"
#include "cli/requests.h"

namespace sluice::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t skill_files_max = 2'000;
constexpr std::uintmax_t skill_bytes_max = 8 * 1024 * 1024;

constexpr Column repository_columns[] = {
    {"ID", "id"}, {"NAME", "name"}, {"URL", "url"}, {"REF", "ref"}, {"CREDENTIAL", "credential"}};
constexpr Column skill_columns[] = {
    {"ID", "id"}, {"NAME", "name"}, {"SIZE", "size"}, {"UPDATED", "updated_at"}, {"DESCRIPTION", "description"}};
constexpr Column environment_columns[] = {{"ID", "id"}, {"NAME", "name"}, {"UPDATED", "updated_at"}};
constexpr Column file_columns[] = {{"ID", "id"}, {"NAME", "name"}, {"SIZE", "size"}, {"CREATED", "created_at"}};

std::string at(std::string_view base, Context& context) { return std::string(base) + path_part(context.operand(0)); }

void write_if_given(json::Writer& writer, const Context& context, std::string_view flag, std::string_view member) {
  if (context.arguments.has(flag)) writer.key(member).string(context.arguments.flag(flag));
}

// "A=1,B=2": commas stand between variables, and so not in their values.
Result<Unit> write_variables(json::Writer& writer, const std::string& text) {
  writer.key("variables").begin_object();
  std::istringstream rest(text);
  for (std::string one; std::getline(rest, one, ',');) {
    const auto equals = one.find('=');
    if (equals == std::string::npos || equals == 0) {
      return Error{ErrorKind::invalid, "--variables must be NAME=VALUE,…, not \"" + one + "\""};
    }
    writer.key_escaped(one.substr(0, equals)).string(one.substr(equals + 1));
  }
  writer.end_object();
  return Unit{};
}

Result<std::string> read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  if (!file) return Error{ErrorKind::invalid, path.string() + " cannot be read"};
  return std::move(bytes).str();
}

std::string to_base64(std::string_view bytes) {
  std::string text = to_base64url(bytes);
  std::ranges::replace(text, '-', '+');
  std::ranges::replace(text, '_', '/');
  return text;
}

// Plain files below `root`, as POST /v1/skills wants them; links are refused, not followed.
Result<std::string> skill_body(const fs::path& root) {
  std::error_code failed;
  if (!fs::is_regular_file(root / "SKILL.md", failed)) {
    return Error{ErrorKind::invalid, root.string() + " is not a skill: it has no SKILL.md"};
  }
  std::vector<fs::path> paths;
  std::uintmax_t size = 0;
  for (auto entry = fs::recursive_directory_iterator(root, failed); !failed && entry != fs::end(entry);
       entry.increment(failed)) {
    const auto& path = entry->path();
    if (entry->is_symlink()) return Error{ErrorKind::invalid, path.string() + " is a link; a skill has only files"};
    if (entry->is_directory() && path.filename() == ".git") entry.disable_recursion_pending();
    if (!entry->is_regular_file()) continue;
    paths.push_back(path);
    size += entry->file_size();
    if (paths.size() > skill_files_max || size > skill_bytes_max) {
      return Error{ErrorKind::invalid, root.string() + " is too large for a skill: 2000 files and 8 MiB at most"};
    }
  }
  if (failed) return Error{ErrorKind::invalid, root.string() + " cannot be read: " + failed.message()};
  std::string body;
  json::Writer writer(body);
  writer.begin_object().key("files").begin_array();
  for (const auto& path : paths) {
    const auto bytes = read_file(path);
    if (!bytes) return bytes.error();
    const auto name = fs::relative(path, root).generic_string();
    if (!is_utf8(name)) return Error{ErrorKind::invalid, "a file's name is not UTF-8"};
    const bool executable = (fs::status(path).permissions() & fs::perms::owner_exec) != fs::perms::none;
    writer.begin_object().key("path").string(name).key("content_base64").string(to_base64(bytes.value()));
    writer.key("executable").boolean(executable).end_object();
  }
  writer.end_array().end_object();
  return body;
}

// Saves what is at `path`, or prints it; never over a file that is there.
int download(Context& context, const std::string& path) {
  const auto reply = context.remote.request(As::service, "GET", path, "");
  int code = exit_ok;
  if (refused(context, reply, code)) return code;
  const auto target = context.arguments.flag("--output");
  if (target.empty() || target == "-") {
    if (context.console.is_terminal()) return complain(context, "this may not be text: give --output FILE");
    context.console.out(reply.value().body);
    return exit_ok;
  }
  std::error_code failed;
  if (fs::exists(target, failed)) return complain(context, target + " exists already");
  std::ofstream file(target, std::ios::binary);
  file << reply.value().body;
  file.close();
  if (!file) return complain(context, target + " cannot be written");
  context.console.err("Saved " + target + ", " + std::to_string(reply.value().body.size()) + " bytes.\n");
  return exit_ok;
}

}  // namespace

int list_repositories(Context& c) { return list_table(c, As::service, "/v1/repositories", repository_columns); }
int create_repository(Context& c) {
  std::string body;
  json::Writer writer(body);
  writer.begin_object().key("name").string(c.operand(0)).key("url").string(c.operand(1));
  write_if_given(writer, c, "--ref", "ref");
  write_if_given(writer, c, "--credential", "credential");
  if (c.arguments.has("--depth")) {
    const auto depth = c.arguments.flag("--depth");
    if (depth.empty() || depth.size() > 9 || depth.find_first_not_of("0123456789") != std::string::npos) {
      return complain(c, "--depth must be a number, not \"" + depth + "\"");
    }
    writer.key("depth").integer(std::stoll(depth));
  }
  writer.end_object();
  return show(c, As::service, "POST", "/v1/repositories", body);
}
int show_repository(Context& c) { return show(c, As::service, "GET", at("/v1/repositories/", c)); }
int delete_repository(Context& c) { return show(c, As::service, "DELETE", at("/v1/repositories/", c)); }

int list_skills(Context& c) { return list_table(c, As::service, "/v1/skills", skill_columns); }
int push_skill(Context& c) {
  const auto body = skill_body(c.operand(0));
  if (!body) return complain(c, body.error().what);
  return show(c, As::service, "POST", "/v1/skills", body.value());
}
int show_skill(Context& c) { return show(c, As::service, "GET", at("/v1/skills/", c)); }
int pull_skill(Context& c) { return download(c, at("/v1/skills/", c) + "/bundle"); }
int delete_skill(Context& c) { return show(c, As::service, "DELETE", at("/v1/skills/", c)); }

int list_environments(Context& c) { return list_table(c, As::service, "/v1/environments", environment_columns); }
int create_environment(Context& c) {
  std::string body;
  json::Writer writer(body);
  writer.begin_object().key("name").string(c.operand(0));
  if (c.arguments.has("--variables")) {
    if (const auto written = write_variables(writer, c.arguments.flag("--variables")); !written) {
      return complain(c, written.error().what);
    }
  }
  if (c.arguments.has("--script")) {
    const auto script = read_file(c.arguments.flag("--script"));
    if (!script) return complain(c, script.error().what);
    if (!is_utf8(script.value())) return complain(c, "the script is not valid UTF-8");
    writer.key("script").string(script.value());
  }
  writer.end_object();
  return show(c, As::service, "POST", "/v1/environments", body);
}
int show_environment(Context& c) { return show(c, As::service, "GET", at("/v1/environments/", c)); }
int delete_environment(Context& c) { return show(c, As::service, "DELETE", at("/v1/environments/", c)); }

void write_materials(json::Writer& writer, const Context& context) {
  write_if_given(writer, context, "--repository", "repository_id");
  write_if_given(writer, context, "--env", "env");
  write_skills(writer, context.arguments);
}

void write_skills(json::Writer& writer, const Arguments& arguments) {
  if (!arguments.has("--skill")) return;
  writer.key("skill_ids").begin_array();
  std::istringstream rest(arguments.flag("--skill"));
  for (std::string id; std::getline(rest, id, ',');) writer.string(id);
  writer.end_array();
}

int create_execution(Context& c) {
  auto tenant = c.access.tenant_id;
  if (c.arguments.has("--tenant")) tenant = c.arguments.flag("--tenant");
  constexpr std::string_view prefix = "tnt_";
  if (!tenant.starts_with(prefix)) return complain(c, "which tenant? Give --tenant TENANT_ID");
  std::string body;
  json::Writer writer(body);
  writer.begin_object();
  write_if_given(writer, c, "--agent", "agent_id");
  write_if_given(writer, c, "--prompt", "prompt");
  write_materials(writer, c);
  if (c.arguments.has("--no-upload")) writer.key("upload").boolean(false);
  writer.end_object();
  return show(c, As::service, "POST", "/api/workspaces/wsp_" + path_part(tenant.substr(prefix.size())) + "/executions",
              body);
}

int list_run_files(Context& c) { return list_table(c, As::service, at("/v1/runs/", c) + "/files", file_columns); }
int get_file(Context& c) { return download(c, at("/v1/files/", c) + "/content"); }

}  // namespace sluice::cli
