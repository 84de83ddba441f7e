// Commands about what is said, done and asked.
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

}  // namespace

std::span<const Command> talk_commands() { return talk_table; }

}  // namespace sluice::cli
