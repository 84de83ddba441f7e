// The rows of commands for operators of a server.
#include "cli/commands.h"

namespace sluice::cli {
namespace {

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

using enum As;

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

std::span<const Command> operator_commands() { return operator_table; }

}  // namespace sluice::cli
