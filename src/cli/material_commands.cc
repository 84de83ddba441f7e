// Commands about agents and what they are given.
#include "cli/commands.h"

namespace sluice::cli {
namespace {

constexpr Flag agent_flags[] = {
    {"--name", "NAME", "its new name"},  // of update only
    {"--system", "TEXT", "the system prompt"},
    {"--provider", "NAME", "offline, anthropic, openai-responses, openai-chat or a configured one; with --model"},
    {"--model", "NAME", "the provider's name for the model; with --provider"},
    {"--base-url", "URL", "another address of the provider"},
    {"--key-alias", "ALIAS", "the secret that is the key to the provider"},
    {"--max-output-tokens", "N", "of one answer"},
    {"--max-runtime-seconds", "N", "of one run"},
    {"--max-history-messages", "N", "shown to the model"},
    {"--skill", "ID[,ID…]", "skills that its runs have at hand, in place of those it had; '': none"},
    {"--environment", "ID", "the environment that its runs work in; '': none"},
    {"--policy", "FILE", "a JSON list of rules: what its runs may do, must ask for and must not do"},
    {"--type", "TYPE", "which program is the agent: native, claude-code, codex, opencode, grok-build or acp"},
    {"--workspace", "USE", "what its sandboxes may do with the workspace's API: none, read or write (default none)"},
    {"--kit", "FILE", "a JSON object with any of command (of acp), mcp_servers, tools, code_mode"},
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
constexpr Flag execution_flags[] = {
    tenant_flag[0],
    {"--agent", "ID", "absent: the tenant's default"},
    {"--prompt", "TEXT", "what to do"},
    repository_flag,
    skill_flag,
    env_flag,
    {"--no-upload", "", "no files are to come back"},
};
constexpr Flag secret_owner_flags[] = {
    {"--conversation", "ID", "of this conversation"},
    {"--agent", "ID", "of this agent; absent, too: of the whole tenant"},
};
constexpr Flag secret_set_flags[] = {
    secret_owner_flags[0],
    secret_owner_flags[1],
    {"--host", "NAME", "where it may be sent, as api.example.com or *.example.com; may be repeated"},
    {"--place", "NAME", "where in a request: header, query, body or basic; may be repeated; absent: all"},
};

constexpr Flag workflow_run_flags[] = {
    {"--input", "NAME=VALUE", "one of its inputs; may be repeated"},
    {"--extended", "", "everything that its agents do, not only log, step, result and error"},
};

using enum As;

constexpr Command material_table[] = {
    {"agents list", "", 0, 0, service, paged, "list agents", "  sluice agents list\n", list_agents},
    {"agents create", "NAME", 1, 1, service, std::span(agent_flags).subspan(1), "make an agent",
     "  sluice agents create writer --provider anthropic --model claude-sonnet-4-5 --system 'You write.'\n"
     "  sluice agents create coder --type claude-code --provider anthropic --model claude-opus-5-5\n",
     create_agent},
    {"agents show", "ID", 1, 1, service, no_flags, "print one agent", "  sluice agents show agt_01k…\n", show_agent},
    {"agents update", "ID", 1, 1, service, agent_flags, "change an agent; what is not given stays",
     "  sluice agents update agt_01k… --default\n", update_agent},
    {"agents delete", "ID", 1, 1, service, no_flags, "delete an agent that no active conversation uses",
     "  sluice agents delete agt_01k…\n", delete_agent},
    {"repositories list", "", 0, 0, service, paged, "list repositories", "  sluice repositories list\n",
     list_repositories},
    {"repositories create", "NAME URL", 2, 2, service, repository_flags, "name a git repository that runs can work in",
     "  sluice repositories create site https://git.example/site.git --ref main\n", create_repository},
    {"repositories show", "ID", 1, 1, service, no_flags, "print one repository",
     "  sluice repositories show rep_01k…\n", show_repository},
    {"repositories delete", "ID", 1, 1, service, no_flags, "delete a repository",
     "  sluice repositories delete rep_01k…\n", delete_repository},
    {"skills list", "", 0, 0, service, paged, "list skills", "  sluice skills list\n", list_skills},
    {"skills push", "DIR", 1, 1, service, no_flags,
     "keep a directory with a SKILL.md as a skill, or as its new version",
     "The front matter of SKILL.md has its name and description.\n\n  sluice skills push ./skills/pdf\n", push_skill},
    {"skills show", "ID", 1, 1, service, no_flags, "print one skill", "  sluice skills show skl_01k…\n", show_skill},
    {"skills pull", "ID", 1, 1, service, output_flag, "download a skill as a gzipped tar",
     "  sluice skills pull skl_01k… --output pdf.tar.gz\n", pull_skill},
    {"skills delete", "ID", 1, 1, service, no_flags, "delete a skill that no agent names",
     "  sluice skills delete skl_01k…\n", delete_skill},
    {"environments list", "", 0, 0, service, paged, "list environments", "  sluice environments list\n",
     list_environments},
    {"environments create", "NAME", 1, 1, service, environment_flags, "make an environment: variables and a script",
     "Not for secrets: what is in it is shown again.\n\n"
     "  sluice environments create build --variables CI=1,LANG=C --script setup.sh\n",
     create_environment},
    {"environments show", "ID", 1, 1, service, no_flags, "print one environment",
     "  sluice environments show env_01k…\n", show_environment},
    {"environments delete", "ID", 1, 1, service, no_flags, "delete an environment that no agent names",
     "  sluice environments delete env_01k…\n", delete_environment},
    {"executions create", "", 0, 0, service, execution_flags, "mint the one-time tokens of one dispatch to a runner",
     "With --json the answer is what a runner's /stream takes.\n\n"
     "  sluice executions create --prompt 'say hello' --json | curl -d @- http://runner/stream\n",
     create_execution},
    {"workflows list", "", 0, 0, service, paged, "list workflows, newest first", "  sluice workflows list\n",
     list_workflows},
    {"workflows show", "ID|NAME", 1, 1, service, no_flags, "print one workflow", "  sluice workflows show report\n",
     show_workflow},
    {"workflows push", "FILE", 1, 1, service, no_flags, "keep a workflow, or change the one of its name",
     "FILE is JSON with name, description and definition.\n\n  sluice workflows push report.json\n", push_workflow},
    {"workflows run", "ID|NAME", 1, 1, service, workflow_run_flags, "run a workflow and print its lines to its end",
     "Leaving with Ctrl-C changes nothing for the run.\n\n  sluice workflows run report --input topic=rain\n",
     run_workflow},
    {"workflows cancel", "RUN_ID", 1, 1, service, no_flags, "cancel a workflow run and what it is doing",
     "  sluice workflows cancel wfr_01k…\n", cancel_workflow},
    {"files get", "ID", 1, 1, service, output_flag, "download a file that a run handed back",
     "  sluice files get fil_01k… --output report.pdf\n", get_file},
    {"secrets list", "", 0, 0, service, secret_owner_flags, "list secrets by alias; values are never shown",
     "  sluice secrets list --agent agt_01k…\n", list_secrets},
    {"secrets set", "ALIAS [@FILE|-]", 1, 2, service, secret_set_flags, "keep a secret that agents name by its alias",
     "The value comes from @FILE, with - from standard input, else it is asked for; never from the command line. One\n"
     "newline at its end is left out. Agents write {{secret:ALIAS}}; the value is put in on the way out of the "
     "sandbox.\n"
     "\n"
     "  sluice secrets set CRM_API_KEY @crm.key --host api.crm.example --place header\n"
     "  pass show crm | sluice secrets set CRM_API_KEY - --conversation con_01k…\n",
     set_secret},
    {"secrets delete", "ALIAS", 1, 1, service, secret_owner_flags, "destroy a secret",
     "  sluice secrets delete CRM_API_KEY\n", delete_secret},
};

}  // namespace

std::span<const Command> material_commands() { return material_table; }

}  // namespace sluice::cli
