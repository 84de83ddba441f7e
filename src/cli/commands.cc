#include "cli/commands.h"

#include <algorithm>

#include "cli/cli.h"

namespace sluice::cli {
namespace {

constexpr Flag common[] = {
    {"--url", "URL", "the server; else SLUICE_URL, else base_url of bootstrap.json, else http://127.0.0.1:8080"},
    {"--key", "KEY", "the service key (sk_int_…); else SLUICE_KEY, else service_key of bootstrap.json"},
    {"--admin-key", "KEY", "the admin key (sk_adm_…); else SLUICE_ADMIN_KEY, else admin_key of bootstrap.json"},
    {"--data", "DIR", "where bootstrap.json is; else SLUICE_SERVER_DATA, else ./sluice-data"},
    {"--ca-file", "FILE", "PEM file of certificate authorities to trust, for a server with its own"},
    {"--json", "", "print JSON as the server sent it"},
    {"--help", "", "say what the command does"},
};

constexpr Flag chat_flags[] = {
    {"--conversation", "ID", "go on with this conversation; absent: a new one"},
    {"--agent", "ID", "the agent of a new conversation; absent: the tenant's default"},
    {"--repository", "ID", "the repository to work in"},
    {"--skill", "ID[,ID…]", "skills to have at hand, besides the agent's own"},
    {"--env", "ID|NAME", "the environment to work in"},
};
constexpr Flag paged[] = {
    {"--limit", "N", "how many, 1 to 100 (default 20)"},
    {"--after", "ID", "those after this one"},
};
constexpr Flag message_flags[] = {
    paged[0], paged[1], {"--order", "asc|desc", "oldest first (default) or newest first"}};
constexpr Flag conversation_flags[] = {paged[0], paged[1], {"--user", "ID", "only those of this user"}};
constexpr Flag run_flags[] = {paged[0], paged[1], {"--conversation", "ID", "only those of this conversation"}};
constexpr Flag tail_flags[] = {{"--after", "SEQ", "only events after this one; absent: from the first"}};
constexpr Flag trace_flags[] = {{"--extended", "", "also the answer as it grew, what tools printed, files and diffs"}};
constexpr Flag agent_flags[] = {
    {"--name", "NAME", "its new name"},  // of update only
    {"--system", "TEXT", "the system prompt"},
    {"--provider", "NAME", "offline, anthropic, openai-responses, openai-chat or a configured one; with --model"},
    {"--model", "NAME", "the provider's name for the model; with --provider"},
    {"--base-url", "URL", "another address of the provider"},
    {"--max-output-tokens", "N", "of one answer"},
    {"--max-runtime-seconds", "N", "of one run"},
    {"--max-history-messages", "N", "shown to the model"},
    {"--skill", "ID[,ID…]", "skills that its runs have at hand, in place of those it had; '': none"},
    {"--environment", "ID", "the environment that its runs work in; '': none"},
    {"--default", "", "make it the tenant's default agent"},
};
constexpr Flag repository_flags[] = {
    {"--ref", "NAME", "branch, tag or commit; absent: the remote's default"},
    {"--depth", "N", "how much history; 0: all of it (default 1)"},
    {"--credential", "ALIAS", "the name of a credential that the server has"},
};
constexpr Flag environment_flags[] = {
    {"--variables", "NAME=VALUE,…", "for every command"},
    {"--script", "FILE", "runs before the first model call"},
};
constexpr Flag output_flag[] = {{"--output", "FILE", "where to save it; absent or -: standard output"}};
constexpr Flag tenant_flag[] = {{"--tenant", "ID", "the tenant; absent: the one of bootstrap.json"}};
constexpr Flag execution_flags[] = {
    tenant_flag[0],
    {"--agent", "ID", "absent: the tenant's default"},
    {"--prompt", "TEXT", "what to do"},
    chat_flags[2],
    chat_flags[3],
    chat_flags[4],
    {"--no-upload", "", "no files are to come back"},
};
constexpr Flag key_list_flags[] = {tenant_flag[0], paged[0], paged[1]};
constexpr Flag key_flags[] = {tenant_flag[0], {"--name", "NAME", "what the key is for"}};
constexpr Flag approver_flags[] = {
    tenant_flag[0],
    key_flags[1],
    {"--algorithm", "NAME", "hmac-sha256 (default) or ed25519"},
    {"--public-key", "BASE64URL", "the raw public key, for ed25519"},
};

using enum As;

constexpr Command table[] = {
    {"chat", "", 0, 0, service, chat_flags, "talk with an agent",
     "Streams each answer as it comes. Ctrl-C during an answer leaves it running and says how to come back;\n"
     "at the prompt it ends the program, as /quit does. A line that ends in a backslash goes on in the next; one\n"
     "that begins with // is sent with a single slash. /help says this at the prompt.\n\n"
     "  sluice chat\n  sluice chat --conversation con_01k…\n",
     chat},
    {"send", "TEXT|-", 1, 1, service, chat_flags, "send one message and print the answer",
     "With - the message is read from standard input. Exit code: 0 completed, 1 failed, 2 wrong usage,\n"
     "3 unreachable or unknown. A connection that breaks is taken up again; the message is never sent twice.\n\n"
     "  sluice send 'say hello'\n  git diff | sluice send --json -\n",
     send},
    {"messages", "CONVERSATION_ID", 1, 1, service, message_flags, "print a conversation's messages",
     "  sluice messages con_01k…\n  sluice messages con_01k… --order desc --limit 2 --json\n", list_messages},
    {"conversations list", "", 0, 0, service, conversation_flags, "list conversations, latest message first",
     "  sluice conversations\n  sluice conversations list --user ana\n", list_conversations},
    {"conversations show",
     "ID",
     1,
     1,
     service,
     {},
     "print one conversation",
     "  sluice conversations show con_01k…\n",
     show_conversation},
    {"conversations archive",
     "ID",
     1,
     1,
     service,
     {},
     "archive a conversation: it takes no more messages",
     "  sluice conversations archive con_01k…\n",
     archive_conversation},
    {"conversations unarchive",
     "ID",
     1,
     1,
     service,
     {},
     "make an archived conversation active again",
     "  sluice conversations unarchive con_01k…\n",
     unarchive_conversation},
    {"runs list", "", 0, 0, service, run_flags, "list runs, newest first",
     "  sluice runs list --conversation con_01k…\n", list_runs},
    {"runs show", "ID", 1, 1, service, {}, "print one run", "  sluice runs show run_01k…\n", show_run},
    {"runs tail", "RUN_ID|MESSAGE_ID", 1, 1, service, tail_flags, "read a run from any position, then live to its end",
     "Works as well when the run is over. The exit code is that of send.\n\n"
     "  sluice runs tail msg_01k… --after 17\n  sluice runs tail run_01k… --json\n",
     tail_run},
    {"runs trace", "RUN_ID", 1, 1, service, trace_flags, "print what a run did, one JSON object a line",
     "The runner's own lines: log, step, and a result or an error at the end. A run that is not over is followed.\n\n"
     "  sluice runs trace run_01k…\n  sluice runs trace run_01k… --extended | jq .type\n",
     trace_run},
    {"runs steps",
     "RUN_ID",
     1,
     1,
     service,
     {},
     "list a run's tool calls, each as it stands",
     "  sluice runs steps run_01k…\n  sluice runs steps run_01k… --json | jq '.[].result'\n",
     list_run_steps},
    {"runs result",
     "RUN_ID",
     1,
     1,
     service,
     {},
     "print what a run came to: its answer, or the problem",
     "  sluice runs result run_01k…\n",
     show_run_result},
    {"runs files",
     "RUN_ID",
     1,
     1,
     service,
     {},
     "list the files that a run handed back",
     "  sluice runs files run_01k…\n",
     list_run_files},
    {"runs cancel",
     "ID",
     1,
     1,
     service,
     {},
     "cancel a run; answers when nothing of it is left",
     "  sluice runs cancel run_01k…\n",
     cancel_run},
    {"agents list", "", 0, 0, service, paged, "list agents", "  sluice agents list\n", list_agents},
    {"agents create", "NAME", 1, 1, service, std::span(agent_flags).subspan(1), "make an agent",
     "  sluice agents create writer --provider anthropic --model claude-sonnet-4-5 --system 'You write.'\n",
     create_agent},
    {"agents show", "ID", 1, 1, service, {}, "print one agent", "  sluice agents show agt_01k…\n", show_agent},
    {"agents update", "ID", 1, 1, service, agent_flags, "change an agent; what is not given stays",
     "  sluice agents update agt_01k… --default\n", update_agent},
    {"agents delete",
     "ID",
     1,
     1,
     service,
     {},
     "delete an agent that no active conversation uses",
     "  sluice agents delete agt_01k…\n",
     delete_agent},
    {"repositories list", "", 0, 0, service, paged, "list repositories", "  sluice repositories list\n",
     list_repositories},
    {"repositories create", "NAME URL", 2, 2, service, repository_flags, "name a git repository that runs can work in",
     "  sluice repositories create site https://git.example/site.git --ref main\n", create_repository},
    {"repositories show",
     "ID",
     1,
     1,
     service,
     {},
     "print one repository",
     "  sluice repositories show rep_01k…\n",
     show_repository},
    {"repositories delete",
     "ID",
     1,
     1,
     service,
     {},
     "delete a repository",
     "  sluice repositories delete rep_01k…\n",
     delete_repository},
    {"skills list", "", 0, 0, service, paged, "list skills", "  sluice skills list\n", list_skills},
    {"skills push",
     "DIR",
     1,
     1,
     service,
     {},
     "keep a directory with a SKILL.md as a skill, or as its new version",
     "The front matter of SKILL.md has its name and description.\n\n  sluice skills push ./skills/pdf\n",
     push_skill},
    {"skills show", "ID", 1, 1, service, {}, "print one skill", "  sluice skills show skl_01k…\n", show_skill},
    {"skills pull", "ID", 1, 1, service, output_flag, "download a skill as a gzipped tar",
     "  sluice skills pull skl_01k… --output pdf.tar.gz\n", pull_skill},
    {"skills delete",
     "ID",
     1,
     1,
     service,
     {},
     "delete a skill that no agent names",
     "  sluice skills delete skl_01k…\n",
     delete_skill},
    {"environments list", "", 0, 0, service, paged, "list environments", "  sluice environments list\n",
     list_environments},
    {"environments create", "NAME", 1, 1, service, environment_flags, "make an environment: variables and a script",
     "Not for secrets: what is in it is shown again.\n\n"
     "  sluice environments create build --variables CI=1,LANG=C --script setup.sh\n",
     create_environment},
    {"environments show",
     "ID",
     1,
     1,
     service,
     {},
     "print one environment",
     "  sluice environments show env_01k…\n",
     show_environment},
    {"environments delete",
     "ID",
     1,
     1,
     service,
     {},
     "delete an environment that no agent names",
     "  sluice environments delete env_01k…\n",
     delete_environment},
    {"executions create", "", 0, 0, service, execution_flags, "mint the one-time tokens of one dispatch to a runner",
     "With --json the answer is what a runner's /stream takes.\n\n"
     "  sluice executions create --prompt 'say hello' --json | curl -d @- http://runner/stream\n",
     create_execution},
    {"files get", "ID", 1, 1, service, output_flag, "download a file that a run handed back",
     "  sluice files get fil_01k… --output report.pdf\n", get_file},
    {"tenants list", "", 0, 0, admin, paged, "list tenants (admin key)", "  sluice tenants list\n", list_tenants},
    {"tenants create",
     "NAME",
     1,
     1,
     admin,
     {},
     "make a tenant (admin key)",
     "  sluice tenants create acme\n",
     create_tenant},
    {"tenants show",
     "ID",
     1,
     1,
     admin,
     {},
     "print one tenant (admin key)",
     "  sluice tenants show tnt_01k…\n",
     show_tenant},
    {"tenants suspend",
     "ID",
     1,
     1,
     admin,
     {},
     "refuse a tenant's writes (admin key)",
     "  sluice tenants suspend tnt_01k…\n",
     suspend_tenant},
    {"tenants resume",
     "ID",
     1,
     1,
     admin,
     {},
     "end a suspension (admin key)",
     "  sluice tenants resume tnt_01k…\n",
     resume_tenant},
    {"keys list", "", 0, 0, admin, key_list_flags, "list a tenant's service keys (admin key)",
     "  sluice keys list --tenant tnt_01k…\n", list_keys},
    {"keys create", "", 0, 0, admin, key_flags, "make a service key; its secret is shown once (admin key)",
     "  sluice keys create --tenant tnt_01k… --name crm\n", create_key},
    {"keys revoke", "KEY_ID", 1, 1, admin, tenant_flag, "revoke a service key (admin key)",
     "  sluice keys revoke key_01k… --tenant tnt_01k…\n", revoke_key},
    {"approver-keys list", "", 0, 0, admin, key_list_flags, "list a tenant's approver keys (admin key)",
     "  sluice approver-keys list\n", list_approver_keys},
    {"approver-keys create", "", 0, 0, admin, approver_flags, "register an approver key (admin key)",
     "The secret of an hmac-sha256 key is shown once. For ed25519 only the public key is ever given.\n\n"
     "  sluice approver-keys create --name supervisor\n"
     "  sluice approver-keys create --algorithm ed25519 --public-key BASE64URL\n",
     create_approver_key},
    {"approver-keys revoke", "KEY_ID", 1, 1, admin, tenant_flag, "revoke an approver key (admin key)",
     "  sluice approver-keys revoke apk_01k…\n", revoke_approver_key},
};

std::string_view first_word(std::string_view words) { return words.substr(0, words.find(' ')); }

std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(width, text.size() + 2), ' ');
  return text;
}

void append_flags(std::string& out, std::span<const Flag> flags) {
  for (const auto& flag : flags) {
    out += padded("  " + std::string(flag.name) + (flag.value.empty() ? "" : " " + std::string(flag.value)), 30) +
           std::string(flag.help) + "\n";
  }
}

std::string usage_of(const Command& command) {
  return "sluice " + std::string(command.words) + (command.operands.empty() ? "" : " " + std::string(command.operands));
}

}  // namespace

std::span<const Command> commands() { return table; }
std::span<const Flag> common_flags() { return common; }

Found find_command(std::span<const std::string> words) {
  if (words.empty()) return {};
  for (const auto& command : table) {
    if (command.words == words[0]) return {&command, 1};
    if (words.size() > 1 && command.words == words[0] + " " + words[1]) return {&command, 2};
  }
  // A bare noun lists what it names.
  const bool bare = words.size() == 1 || (words[1].starts_with('-') && words[1] != "--help" && words[1] != "-h");
  if (!bare) return {};
  for (const auto& command : table) {
    if (command.words == words[0] + " list") return {&command, 1};
  }
  return {};
}

std::string help_of(const Command& command) {
  std::string out = "usage: " + usage_of(command) + " [flags]\n\n" + std::string(command.summary) + "\n";
  out += (command.help.starts_with("  ") ? "\nfor example:\n" : "\n") + std::string(command.help) + "\n";
  if (!command.flags.empty()) {
    out += "flags:\n";
    append_flags(out, command.flags);
    out += "\n";
  }
  out += "flags of every command:\n";
  append_flags(out, common);
  return out;
}

std::string help_of_group(std::string_view word) {
  std::string out;
  for (const auto& command : table) {
    if (first_word(command.words) == word)
      out += padded("  " + usage_of(command), 42) + std::string(command.summary) + "\n";
  }
  return out + "\nMore: sluice COMMAND --help\n";
}

bool knows(std::string_view word) {
  return std::ranges::any_of(table, [word](const Command& c) { return first_word(c.words) == word; });
}

std::vector<std::string_view> first_words() {
  std::vector<std::string_view> words;
  for (const auto& command : table) {
    if (words.empty() || words.back() != first_word(command.words)) words.push_back(first_word(command.words));
  }
  return words;
}

std::string command_list() {
  std::string out;
  for (const auto& command : table)
    out += padded("  " + std::string(command.words), 28) + std::string(command.summary) + "\n";
  return out;
}

}  // namespace sluice::cli
