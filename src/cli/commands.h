// The table of client commands: one row has the words, the flags, the help and the function of a command. Functions run
// on the main thread and return the exit code.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/time.h"
#include "cli/arguments.h"
#include "cli/console.h"
#include "cli/remote.h"

namespace sluice::cli {

struct Context {
  const Arguments& arguments;
  const Access& access;
  Console& console;
  Remote& remote;
  const Hints& hints;
  Timestamp (*now)();

  const std::string& operand(std::size_t index) const { return arguments.operands().at(index); }
  Form form() const { return arguments.has("--json") ? Form::json : Form::human; }
};

struct Command {
  std::string_view words;     // "runs tail"
  std::string_view operands;  // "RUN_ID|MESSAGE_ID"
  std::size_t operands_min;
  std::size_t operands_max;
  As as;
  std::span<const Flag> flags;
  std::string_view summary;
  std::string_view help;  // more, and examples
  int (*run)(Context& context);
};

std::vector<const Command*> commands();
// Flags that every command accepts.
std::span<const Flag> common_flags();

// A command and the number of its words; null if the words name no command.
struct Found {
  const Command* command = nullptr;
  std::size_t words = 0;
};
Found find_command(std::span<const std::string> words);

std::string help_of(const Command& command);
// The commands that begin with `word`, a line each.
std::string help_of_group(std::string_view word);
// The words that may follow this first word.
std::vector<std::string_view> second_words(std::string_view word);

// ── flags of several commands ──
inline constexpr std::span<const Flag> no_flags{};
inline constexpr Flag paged[] = {
    {"--limit", "N", "how many, 1 to 100 (default 20)"},
    {"--after", "ID", "those after this one"},
};
inline constexpr Flag repository_flag{"--repository", "ID", "the repository to work in"};
inline constexpr Flag skill_flag{"--skill", "ID[,ID…]", "skills to have at hand, besides the agent's own"};
inline constexpr Flag env_flag{"--env", "ID|NAME", "the environment to work in"};
inline constexpr Flag tenant_flag[] = {{"--tenant", "ID", "the tenant; absent: the one of bootstrap.json"}};

// ── conversations ──
int chat(Context& context);
int send(Context& context);
int tail_run(Context& context);

// ── records ──
int list_messages(Context& context);
int create_conversation(Context& context);
int update_conversation(Context& context);
int list_conversations(Context& context);
int show_conversation(Context& context);
int archive_conversation(Context& context);
int unarchive_conversation(Context& context);
int list_runs(Context& context);
int show_run(Context& context);
int cancel_run(Context& context);
int trace_run(Context& context);
int list_run_steps(Context& context);
int show_run_result(Context& context);
int list_run_egress(Context& context);
int list_agents(Context& context);
int create_agent(Context& context);
int show_agent(Context& context);
int update_agent(Context& context);
int delete_agent(Context& context);
int list_tenants(Context& context);
int create_tenant(Context& context);
int show_tenant(Context& context);
int update_tenant(Context& context);
int show_webhook_secret(Context& context);
int suspend_tenant(Context& context);
int resume_tenant(Context& context);
int list_keys(Context& context);
int create_key(Context& context);
int revoke_key(Context& context);
int list_approver_keys(Context& context);
int create_approver_key(Context& context);
int generate_approver_key(Context& context);
int revoke_approver_key(Context& context);

// ── gates ──
int list_approvals(Context& context);
int get_approval(Context& context);
int approve_approval(Context& context);
int deny_approval(Context& context);
int list_secrets(Context& context);
int set_secret(Context& context);
int delete_secret(Context& context);
int show_capacity(Context& context);
int list_nodes(Context& context);
int open_console(Context& context);
int list_audit(Context& context);
int verify_audit(Context& context);
int reseal_vault(Context& context);

// ── materials of agents, and files that runs return ──
int list_repositories(Context& context);
int create_repository(Context& context);
int show_repository(Context& context);
int delete_repository(Context& context);
int list_skills(Context& context);
int push_skill(Context& context);
int show_skill(Context& context);
int pull_skill(Context& context);
int delete_skill(Context& context);
int list_environments(Context& context);
int create_environment(Context& context);
int show_environment(Context& context);
int delete_environment(Context& context);
int create_execution(Context& context);
int list_workflows(Context& context);
int show_workflow(Context& context);
int push_workflow(Context& context);
int run_workflow(Context& context);
int cancel_workflow(Context& context);
int list_run_files(Context& context);
int get_file(Context& context);

// ── shared by several commands ──
// Writes skill_ids from --skill; an empty value means none.
void write_skills(json::Writer& writer, const Arguments& arguments);
// Writes repository_id, skill_ids and env, if --repository, --skill and --env are given.
void write_materials(json::Writer& writer, const Context& context);
// Writes runtime, if --mode and --sticky-ttl-seconds are given. `invalid`, with an explanation.
Result<Unit> write_runtime(json::Writer& writer, const Arguments& arguments);
// The count that a flag gives. `invalid`, with an explanation.
Result<int64_t> count_of(const Arguments& arguments, std::string_view flag);
// Whether a reply is a failure: the server is unreachable, or it answered a problem, which is printed. Sets `code`.
bool refused(Context& context, const Result<client::Reply>& reply, int& code);

}  // namespace sluice::cli
