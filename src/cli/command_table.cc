// Every command that talks to a server: conversations and runs, then agents and what they are given, then the
// operator's.
#include "cli/commands.h"

namespace sluice::cli {
namespace {

constexpr Flag mode_flag{"--mode", "pooled|sticky",
                         "where a new conversation's runs are carried out; sticky keeps the sandbox"};
constexpr Flag ttl_flag{"--sticky-ttl-seconds", "N", "how long a sticky sandbox is kept after the last activity"};
constexpr Flag type_flag{"--type", "TYPE", "which program is the new conversation's agent; absent: as the agent says"};
constexpr Flag chat_flags[] = {
    {"--conversation", "ID", "go on with this conversation; absent: a new one"},
    {"--agent", "ID", "the agent of a new conversation; absent: the tenant's default"},
    type_flag,
    mode_flag,
    ttl_flag,
    repository_flag,
    skill_flag,
    env_flag,
    {"--hold", "", "wait for a place when the server is full, rather than be refused"},
};
constexpr Flag message_flags[] = {
    paged[0], paged[1], {"--order", "asc|desc", "oldest first (default) or newest first"}};
constexpr Flag conversation_flags[] = {paged[0], paged[1], {"--user", "ID", "only those of this user"}};
constexpr Flag conversation_create_flags[] = {
    {"--agent", "ID", "absent: the tenant's default"},
    {"--title", "TEXT", "its title"},
    {"--user", "ID", "whose it is"},
    repository_flag,
    type_flag,
    mode_flag,
    ttl_flag,
};
constexpr Flag run_flags[] = {paged[0], paged[1], {"--conversation", "ID", "only those of this conversation"}};
constexpr Flag tail_flags[] = {{"--after", "SEQ", "only events after this one; absent: from the first"}};
constexpr Flag trace_flags[] = {{"--extended", "", "also the answer as it grew, what tools printed, files and diffs"}};
constexpr Flag approval_list_flags[] = {
    paged[0],
    paged[1],
    {"--conversation", "ID", "only those of this conversation"},
    {"--status", "NAME", "pending, approved, denied or expired"},
};
constexpr Flag deny_flags[] = {
    {"--key-file", "FILE", "the approver key; absent: the one of bootstrap.json"},
    {"--key-id", "ID", "which key it is (apk_…), where the file does not say"},
    {"--note", "TEXT", "kept with the decision"},
    {"--bind", "", "sign digests of what is asked for and of what is supplied, as is always done"},
    {"--valid-seconds", "N", "how long the signature counts (default 300)"},
};
constexpr Flag approve_flags[] = {
    deny_flags[0],
    deny_flags[1],
    {"--secret", "ALIAS[=@FILE|=-]",
     "supply a secret from FILE, from standard input, or typed unseen; may be repeated"},
    deny_flags[2],
    deny_flags[3],
    deny_flags[4],
};

using enum As;

constexpr Command talk_table[] = {
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
    {"conversations create", "", 0, 0, service, conversation_create_flags, "make a conversation",
     "  sluice conversations create --title Ledger --mode sticky --sticky-ttl-seconds 1800\n", create_conversation},
    {"conversations show", "ID", 1, 1, service, no_flags, "print one conversation",
     "  sluice conversations show con_01k…\n", show_conversation},
    {"conversations update", "ID", 1, 1, service, conversation_create_flags,
     "change a conversation; what is not given stays",
     "--mode pooled gives a sticky sandbox back at once.\n"
     "\n"
     "  sluice conversations update con_01k… --mode sticky\n",
     update_conversation},
    {"conversations archive", "ID", 1, 1, service, no_flags, "archive a conversation: it takes no more messages",
     "  sluice conversations archive con_01k…\n", archive_conversation},
    {"conversations unarchive", "ID", 1, 1, service, no_flags, "make an archived conversation active again",
     "  sluice conversations unarchive con_01k…\n", unarchive_conversation},
    {"runs list", "", 0, 0, service, run_flags, "list runs, newest first",
     "  sluice runs list --conversation con_01k…\n", list_runs},
    {"runs show", "ID", 1, 1, service, no_flags, "print one run", "  sluice runs show run_01k…\n", show_run},
    {"runs tail", "RUN_ID|MESSAGE_ID", 1, 1, service, tail_flags, "read a run from any position, then live to its end",
     "Works as well when the run is over. The exit code is that of send.\n\n"
     "  sluice runs tail msg_01k… --after 17\n  sluice runs tail run_01k… --json\n",
     tail_run},
    {"runs trace", "RUN_ID", 1, 1, service, trace_flags, "print what a run did, one JSON object a line",
     "The runner's own lines: log, step, and a result or an error at the end. A run that is not over is followed.\n\n"
     "  sluice runs trace run_01k…\n  sluice runs trace run_01k… --extended | jq .type\n",
     trace_run},
    {"runs steps", "RUN_ID", 1, 1, service, no_flags, "list a run's tool calls, each as it stands",
     "  sluice runs steps run_01k…\n  sluice runs steps run_01k… --json | jq '.[].result'\n", list_run_steps},
    {"runs result", "RUN_ID", 1, 1, service, no_flags, "print what a run came to: its answer, or the problem",
     "  sluice runs result run_01k…\n", show_run_result},
    {"runs files", "RUN_ID", 1, 1, service, no_flags, "list the files that a run handed back",
     "  sluice runs files run_01k…\n", list_run_files},
    {"runs egress", "RUN_ID", 1, 1, service, paged, "list what left a run's sandbox, or was kept from it",
     "The aliases of the secrets that were put in are shown.\n"
     "\n"
     "  sluice runs egress run_01k…\n",
     list_run_egress},
    {"runs cancel", "ID", 1, 1, service, no_flags, "cancel a run; answers when nothing of it is left",
     "  sluice runs cancel run_01k…\n", cancel_run},
    {"approvals list", "", 0, 0, service, approval_list_flags, "list what runs ask of a human",
     "  sluice approvals list --status pending\n", list_approvals},
    {"approvals get", "ID", 1, 1, service, no_flags, "print what is asked, and what was decided",
     "  sluice approvals get apr_01k…\n", get_approval},
    {"approvals approve", "ID", 1, 1, service, approve_flags, "approve, signed with an approver key",
     "Shows what is asked, signs here (the key stays on this machine) and sends. Secrets that are asked for and not "
     "given\n"
     "by flags are asked for on a terminal. The key file is what `approver-keys create --json` or `approver-keys "
     "generate`\n"
     "wrote, a bootstrap.json, or an Ed25519 private key in PEM.\n"
     "\n"
     "  sluice approvals approve apr_01k… --key-file supervisor.json --secret CRM_API_KEY=@crm.key\n"
     "  sluice approvals approve apr_01k… --key-file ed25519.pem --key-id apk_01k… --bind\n",
     approve_approval},
    {"approvals deny", "ID", 1, 1, service, deny_flags, "deny, signed with an approver key: the run ends",
     "  sluice approvals deny apr_01k… --key-file supervisor.json --note 'not on a Friday'\n", deny_approval},
};

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

constexpr Flag key_list_flags[] = {tenant_flag[0], paged[0], paged[1]};
constexpr Flag key_flags[] = {tenant_flag[0], {"--name", "NAME", "what the key is for"}};
constexpr Flag approver_flags[] = {
    tenant_flag[0],
    key_flags[1],
    {"--algorithm", "NAME", "hmac-sha256 or ed25519; absent: ed25519 with a public key"},
    {"--public-key", "BASE64URL", "the raw public key, for ed25519"},
    {"--public-key-file", "FILE", "the same from a file: PEM, base64url, or what generate wrote"},
};
constexpr Flag generate_flags[] = {{"--out", "FILE", "where the private key goes; it must not exist yet"}};
constexpr Flag tenant_update_flags[] = {
    {"--name", "NAME", "its new name"},
    {"--weight", "N", "of its share when others wait too"},
    {"--max-running", "N", "runs at once; 0: as many as there are places"},
    {"--max-held", "N", "runs that wait; 0: as many as the queue takes"},
    {"--max-concurrent-sticky", "N", "sticky sandboxes at once"},
    {"--max-sticky-ttl-seconds", "N", "the longest that a conversation may keep one"},
    {"--require-bound-decisions", "yes|no", "decisions must sign what is asked for and what is supplied"},
    {"--agui-unsigned-approvals", "yes|no", "AG-UI clients' answers to interrupts count without a signature"},
    {"--filler", "yes|no", "bridge silences with filler"},
    {"--webhook-url", "URL", "gets a request when approvals are raised and resolved; '': none"},
};
constexpr Flag audit_flags[] = {
    {"--tenant", "ID", "only what concerns this tenant"},
    paged[0],
    {"--after", "N", "entries after this number"},
};
constexpr Flag verify_flags[] = {{"--expect", "SHA256", "a head noted before: some entry must have this hash"}};

constexpr Command operator_table[] = {
    {"capacity", "", 0, 0, service, no_flags, "say how many runs there are, and whether one more would have to wait",
     "  sluice capacity\n", show_capacity},
    {"nodes", "", 0, 0, admin, no_flags, "list the servers that share the store, with what each carries (admin key)",
     "  sluice nodes\n", list_nodes},
    {"console", "", 0, 0, admin, no_flags, "print a URL that opens the console in a browser, once (admin key)",
     "The code in it is good for an hour and for one login, as the operator.\n\n"
     "  sluice console\n"
     "  sluice console --data /var/lib/sluice\n",
     open_console},
    {"tenants list", "", 0, 0, admin, paged, "list tenants (admin key)", "  sluice tenants list\n", list_tenants},
    {"tenants create", "NAME", 1, 1, admin, no_flags, "make a tenant (admin key)", "  sluice tenants create acme\n",
     create_tenant},
    {"tenants show", "ID", 1, 1, admin, no_flags, "print one tenant (admin key)", "  sluice tenants show tnt_01k…\n",
     show_tenant},
    {"tenants update", "ID", 1, 1, admin, tenant_update_flags, "change a tenant; what is not given stays (admin key)",
     "  sluice tenants update tnt_01k… --weight 2 --max-running 10\n"
     "  sluice tenants update tnt_01k… --webhook-url https://host.example/sluice\n",
     update_tenant},
    {"tenants suspend", "ID", 1, 1, admin, no_flags, "refuse a tenant's writes (admin key)",
     "  sluice tenants suspend tnt_01k…\n", suspend_tenant},
    {"tenants resume", "ID", 1, 1, admin, no_flags, "end a suspension (admin key)",
     "  sluice tenants resume tnt_01k…\n", resume_tenant},
    {"tenants webhook-secret", "ID", 1, 1, admin, no_flags, "print what a tenant's webhook is signed with (admin key)",
     "  sluice tenants webhook-secret tnt_01k…\n", show_webhook_secret},
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
     "  sluice approver-keys create --name supervisor --public-key-file supervisor.pem\n",
     create_approver_key},
    {"approver-keys generate", "", 0, 0, none, generate_flags, "make an Ed25519 key pair here; prints the public key",
     "The private key goes into FILE, which only you can read, and never to a server.\n"
     "\n"
     "  sluice approver-keys generate --out supervisor.json\n"
     "  sluice approver-keys create --public-key-file supervisor.json\n",
     generate_approver_key},
    {"approver-keys revoke", "KEY_ID", 1, 1, admin, tenant_flag, "revoke an approver key (admin key)",
     "  sluice approver-keys revoke apk_01k…\n", revoke_approver_key},
    {"audit list", "", 0, 0, admin, audit_flags, "list what was decided, and by whom (admin key)",
     "  sluice audit list --tenant tnt_01k…\n", list_audit},
    {"audit verify", "", 0, 0, admin, verify_flags, "prove here that the audit chain is whole (admin key)",
     "Reads every entry and checks its hash and its link to the one before. Note the head: with --expect, a chain that "
     "was\n"
     "cut short or written anew since is found too. Exit code 1 when it is broken.\n"
     "\n"
     "  sluice audit verify\n"
     "  sluice audit verify --expect 9f86d081…\n",
     verify_audit},
    {"vault reseal", "", 0, 0, admin, no_flags,
     "seal every secret anew, under the key that vault new-key made (admin key)",
     "After `sluice vault new-key` and a restart of the server. Then the older keys can be taken out of the key file.\n"
     "\n"
     "  sluice vault reseal\n",
     reseal_vault},
};

}  // namespace

std::vector<const Command*> commands() {
  std::vector<const Command*> all;
  for (const auto table : std::initializer_list<std::span<const Command>>{talk_table, material_table, operator_table}) {
    for (const auto& command : table) all.push_back(&command);
  }
  return all;
}

}  // namespace sluice::cli
