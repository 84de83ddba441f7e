#include <array>

#include "app/config.h"

namespace sluice::app {
namespace {

using enum KeyType;

constexpr Key keys[] = {
    {"server.listen", text, "127.0.0.1:8080", "Address and port to listen on; port 0 picks a free one."},
    {"server.data", text, "./sluice-data", "Directory of the database and of bootstrap.json; created with mode 0700."},
    {"server.public_base_url", text, "",
     "The URL clients use, without a trailing slash; links in problems begin with it. Empty: from server.listen."},
    {"server.tls_cert", text, "", "PEM file with the certificate chain. Empty: plain HTTP."},
    {"server.tls_key", text, "", "PEM file with the certificate's private key."},
    {"server.admin_key", text, "",
     "The admin key: sk_adm_ and more, 20 characters at least. Empty: made at the first start, in bootstrap.json.", "",
     0, true},
    {"server.drain_seconds", integer, "20", "How long SIGTERM waits for runs and answers in flight."},
    {"server.metrics_public", boolean, "false", "Serve /metrics without the admin key."},

    {"log.format", text, "human", "How log lines on standard error look.", "human|json"},
    {"log.level", text, "info", "The least important lines that are written.", "debug|info|warn|error"},

    {"store.url", text, "",
     "sqlite:PATH of the database file, or postgresql://USER:PASSWORD@HOST/DATABASE, which several servers may share "
     "(docs/nodes.md). Empty: sluice.db in the data directory."},
    {"store.durability", text, "standard",
     "standard: what was accepted or ended is on disk before anyone is told, deltas survive the death of the process; "
     "strict: every commit is on disk.",
     "standard|strict"},
    {"store.readers", integer, "2", "Threads that read the database.", "", 1},

    {"limits.request_body_bytes_max", integer, "4194304", "A larger body is refused with 413.", "", 1024},
    {"limits.connections_max", integer, "20000",
     "Connections at once, and never more than half of the process's descriptors; more are refused with 503.", "", 1},
    {"limits.keyless_connections_per_address", integer, "0",
     "Connections at once from one address on which no valid key was shown; more are refused with 503. Of IPv6 a "
     "network of 64 bits is one address. 0: half of all (docs/deploy.md).",
     "", 0},
    {"limits.request_head_seconds", integer, "10", "Time for a request's head to arrive.", "", 1},
    {"limits.request_body_seconds", integer, "60", "Time for a request's body to arrive.", "", 1},
    {"limits.keep_alive_seconds", integer, "75", "Idle connections are closed after this.", "", 1},
    {"limits.requests_per_second", integer, "10000",
     "How often one service key, or one sandbox, may ask on average; more is answered 429. 0: as often as it likes.",
     "", 0},
    {"limits.burst", integer, "20000", "How many requests of a key may come at once, after a pause.", "", 1},
    {"limits.wrong_keys_per_minute", integer, "60",
     "Wrong keys, tokens and logins from one address; more are answered 429 instead of 401. Good ones from the same "
     "address always pass. 0: no limit.",
     "", 0},
    {"limits.disk_free_bytes_min", integer, "0",
     "With less free on the disk of the data directory no runs are begun (503). 0: a twentieth of the disk, 1 GiB at "
     "most."},
    {"limits.write_stall_seconds", integer, "120", "A client that takes no bytes for this long is cut off.", "", 1},

    {"models.default_provider", text, "offline", "Provider of the demo tenant's default agent."},
    {"models.default_model", text, "offline", "Model of the demo tenant's default agent."},
    {"models.retry_count_max", integer, "4",
     "Attempts after a failed call to a model, before any of its answer was told."},
    {"models.connect_seconds", integer, "10", "Time to reach a provider.", "", 1},
    {"models.idle_seconds", integer, "120", "Silence of a provider that counts as a failure.", "", 1},
    {"models.total_seconds", integer, "1800", "Time for one answer of a model.", "", 1},
    {"models.agent_base_urls", list, "",
     "Where an agent's own base_url may lead: the beginnings of URLs, or * for any public address. Empty: only to its "
     "provider's base_url."},
    {"models.proxy", text, "", "Proxy for calls to providers. Empty: http_proxy, https_proxy and no_proxy decide."},
    {"models.ca_file", text, "", "PEM file of certificate authorities to trust. Empty: the system's."},

    {"filler.phrases", list, "One moment…|Still working on it…|Almost there…",
     "What bridges the silence before a slow answer, told in turn."},
    {"filler.first_ms", integer, "400", "Silence before the first phrase."},
    {"filler.every_ms", integer, "4000", "Silence between two phrases.", "", 1},
    {"filler.count_max", integer, "5", "Phrases for one answer at most."},
    {"filler.model_provider", text, "", "Provider of a small model that makes the phrases. Empty: filler.phrases."},
    {"filler.model_name", text, "", "That model's name."},

    {"sandbox.driver", text, "auto",
     "What boxes are made with. auto: namespaces, or no tools at all where they cannot be made; the others: the server "
     "does not start without them; off: agents have no tools.",
     "auto|namespaces|oci|off"},
    {"sandbox.root", text, "", "Directory of an image that is the box's root. Empty: the host's own /usr, /bin, /lib."},
    {"sandbox.extra_paths", list, "", "More directories of the host that a box sees, read-only, at the same place."},
    {"sandbox.warm_target", integer, "2", "Boxes built ahead, so that a run need not wait for one."},
    {"sandbox.host_uid", integer, "0",
     "Started as root: the user and group that the files of sandboxes belong to on disk, and, with "
     "sandbox.host_uid_count "
     "0 or the driver oci, whom a sandbox's user is outside of it. 0: what the data directory was begun with; a new "
     "one "
     "is begun with 2100000000."},
    {"sandbox.host_uid_count", integer, "4096",
     "Started as root, with the driver namespaces: how many users after sandbox.host_uid the sandboxes take turns at, "
     "so "
     "that none uses up what the kernel counts by user for another one. 0: all have sandbox.host_uid."},
    {"sandbox.oci_runtime", text, "", "With the driver oci: crun or runc. Empty: whichever is there."},
    {"sandbox.memory_mib", integer, "2048", "Memory of a box. 0: no limit."},
    {"sandbox.processes_max", integer, "512", "Processes and threads of a box."},
    {"sandbox.cpu_seconds", integer, "3600", "Processor time of one process in a box. 0: no limit."},
    {"sandbox.cpu_percent", integer, "0", "Share of one core that a box may use. 0: no limit."},
    {"sandbox.open_files_max", integer, "4096", "Open files of one process in a box.", "", 64},
    {"sandbox.file_mib", integer, "1024", "Size of one file that a box writes. 0: no limit."},
    {"sandbox.workspace_mib", integer, "1024", "What a run may add to its workspace.", "", 1},
    {"sandbox.tenant_workspaces_mib", integer, "20480",
     "What the kept workspaces of all conversations of a tenant may have together. 0: no limit."},
    {"sandbox.workspace_files_max", integer, "200000", "How many files it may add.", "", 16},
    {"sandbox.keep_seconds", integer, "300",
     "Time to copy a workspace, or to compare it, when a run ends or waits; then the run fails.", "", 1},
    {"sandbox.tmp_mib", integer, "256", "Size of a box's /tmp.", "", 1},

    {"tools.timeout_seconds", integer, "120", "Time of a tool call that names none.", "", 1},
    {"tools.timeout_seconds_max", integer, "600", "The most that a tool call can name.", "", 1},
    {"tools.result_chars_max", integer, "30000", "What a model is shown of a tool's result.", "", 1000},
    {"tools.output_bytes_max", integer, "4194304", "What a run's trace keeps of one tool call's output.", "", 1000},
    {"tools.rounds_max", integer, "50", "Rounds of tool calls in one run.", "", 1},
    {"tools.urls", list, "",
     "Where agents' webhook tools and MCP servers may be: the beginnings of URLs, or * for any public address. Empty: "
     "nowhere."},
    {"tools.setup_seconds", integer, "600", "Time of an environment's setup script.", "", 1},

    {"harness.dir", text, "",
     "Directory of the agent programs that sluice harness install puts there. Empty: harness in the data directory."},
    {"harness.start_ms_max", integer, "60000", "Time for an agent program to say its first word.", "", 1},
    {"harness.silence_ms_max", integer, "600000",
     "Silence of an agent program that counts as a failure, while nobody is asked and no tool runs.", "", 1},
    {"harness.tool_silence_ms_max", integer, "1800000", "The same while a tool of its own runs.", "", 1000},

    {"files.watch", boolean, "true", "Tell each file of a workspace that comes, changes or goes, while it does."},
    {"files.ignored", list, ".git|node_modules", "Directories of which nothing is told, wherever they are."},
    {"files.webhook_url", text, "", "Where file events are POSTed as well. Empty: nowhere."},
    {"files.webhook_secret", text, "", "Signs them: HMAC-SHA256 of the body in Sluice-Signature.", "", 0, true},
    {"files.hook_command", list, "", "A program and its arguments that gets file events as NDJSON on its input."},
    {"files.asset_extensions", list, "", "Which files under assets/ come back. Empty: the list in docs/workspaces.md."},

    {"files.extensions", list, "", "Which files may be uploaded. Empty: the list in docs/workspaces.md."},
    {"files.upload_bytes_max", integer, "100000000", "What the files of one upload may have together, at most 512 MB.",
     "", 1},
    {"files.tenant_bytes_max", integer, "10000000000", "What all files of a tenant may have together.", "", 1},
    {"files.store", text, "",
     "Where the bytes of files and skills are: s3://BUCKET/PREFIX. Empty: files in the data directory."},
    {"files.s3_endpoint", text, "https://s3.amazonaws.com",
     "The object store: http(s)://HOST:PORT, addressed by path."},
    {"files.s3_region", text, "us-east-1", "Its region, which is part of every signature."},
    {"files.s3_access_key", text, "", "The key's id there.", "", 0, true},
    {"files.s3_secret_key", text, "", "The key itself, which signs requests.", "", 0, true},

    {"capacity.max_running", integer, "1024", "Runs at work at once: the slots.", "", 1},
    {"capacity.max_sticky", integer, "64", "Slots that may be pinned to sticky conversations."},
    {"capacity.max_held", integer, "10000", "Messages that may wait for a slot; more are refused with 429."},
    {"capacity.max_hold_seconds", integer, "120", "How long a message waits for a slot.", "", 1},

    {"node.name", text, "", "What this server is called among those that share the store. Empty: the host's name."},
    {"node.beat_ms", integer, "500", "How often it tells the others that it lives.", "", 50},
    {"node.dead_ms", integer, "1500",
     "Silence after which the others take over its runs, and after which it suspends them itself. At least three "
     "times node.beat_ms.",
     "", 150},

    {"approvals.expire_seconds", integer, "900", "How long a run waits for a human, if it names no time.", "", 1},
    {"approvals.expire_seconds_max", integer, "604800", "The most that it can name.", "", 1},
    {"approvals.decision_horizon_seconds", integer, "900", "How far ahead a signed decision's exp may lie.", "", 1},

    {"assistant.leave_grace_ms", integer, "2000",
     "How long a chat's turn goes on that nobody reads any more, unless it was asked to. 0: not at all."},

    {"vault.key", text, "", "The key that seals secrets: a line of a key file. Empty: vault.key_file.", "", 0, true},
    {"vault.key_file", text, "",
     "File of keys, the current one first. Empty: the credential sluice.vault.key of systemd, or vault.key in the data "
     "directory, which is made."},

    {"egress.private_addresses", list, "", "Ranges (CIDR) that agents may reach although they are private."},
    {"egress.host_addresses", list, "", "NAME ADDRESS: hosts that are not looked up."},
    {"egress.ca_file", text, "",
     "PEM file of authorities that hosts' certificates are checked by. Empty: the system's."},
    {"egress.plaintext_secrets", boolean, "false", "Secrets may go into requests without TLS."},
    {"egress.connect_seconds", integer, "10", "Time to reach a host.", "", 1},
    {"egress.idle_seconds", integer, "300", "Connections on which nothing moves are closed after this.", "", 1},

    {"webhooks.urls", list, "*",
     "Where tenants' webhook_url may lead: the beginnings of URLs, or * for any public address."},

    {"workflows.http_urls", list, "",
     "Where workflows' http blocks may lead: the beginnings of URLs, or * for any public address. Empty: nowhere."},

    {"repositories.allowed_urls", list,
     "https://github.com/|https://gitlab.com/|https://bitbucket.org/|https://codeberg.org/",
     "What may be cloned: the beginnings of URLs, or * for anything at a public address."},
    {"repositories.credentials", list, "", "ALIAS HOST USERNAME PASSWORD, for repositories that name the alias.", "", 0,
     true},
    {"repositories.clone_seconds", integer, "600", "Time for a clone.", "", 1},

    {"runner.urls", list, "",
     "Runners elsewhere that carry the runs, without /stream; SANDBOX_URL names one too. They know no approvals, "
     "secrets or sticky sandboxes. Empty: this server does."},
    {"runner.key", text, "", "What a runner is asked with. Empty: runner_key of bootstrap.json.", "", 0, true},
    {"runner.callback_base_url", text, "", "This server as those runners reach it. Empty: server.public_base_url."},
    {"runner.agent_urls", list, "",
     "Whose dispatches this runner takes: the beginnings of agent_url, or *. Empty: `sluice runner` takes all, `sluice "
     "serve` those whose agent_url is its own (runner.callback_base_url, server.public_base_url)."},
    {"runner.sandbox_urls", list, "",
     "Runners that a chat or a workflow may name itself: the beginnings of URLs, or * for any at a public address. "
     "They "
     "are asked with runner.key. Empty: none."},
    {"runner.concurrent_max", integer, "64", "Dispatches at once by POST /stream; more are refused with 503.", "", 1},
    {"runner.spool_bytes_max", integer, "16777216",
     "Lines that a runner keeps of a dispatch until they are acknowledged; then its agent waits.", "", 65536},
    {"runner.reattach_seconds", integer, "60",
     "How long runners elsewhere are to go on with a run while the connection to this server is broken.", "", 1},
    {"runner.wait_seconds", integer, "30", "How long a run waits for a runner elsewhere that has a free slot.", "", 0},
};

constexpr Key of_provider[] = {
    {"dialect", text, "", "What the provider speaks.", "anthropic|openai-responses|openai-chat|offline"},
    {"base_url", text, "", "Where it is. Empty: the dialect's own."},
    {"api_key", text, "", "Its key.", "", 0, true},
    {"api_key_env", text, "", "Environment variable that holds its key, if api_key is empty."},
};

constexpr ShortFlag shorts[] = {
    {"--listen", "server.listen"},     {"--data", "server.data"},       {"--store", "store.url"},
    {"--tls-cert", "server.tls_cert"}, {"--tls-key", "server.tls_key"}, {"--runner", "runner.urls"},
};

constexpr std::string_view name_of(KeyType type) {
  constexpr std::array<std::string_view, 4> names = {"text", "integer", "boolean", "list of text"};
  return names[static_cast<std::size_t>(type)];
}

void append_row(std::string& out, const Key& key, std::string_view prefix) {
  std::string type(name_of(key.type));
  if (!key.choices.empty()) {
    type = key.choices;
    for (std::size_t at = 0; (at = type.find('|', at)) != std::string::npos; at += 2) type.replace(at, 1, ", ");
  }
  std::string fallback(key.fallback);
  for (std::size_t at = 0; (at = fallback.find('|', at)) != std::string::npos; at += 3) fallback.replace(at, 1, " · ");
  out += "| `" + std::string(prefix) + std::string(key.name) + "` | " + type + " | " +
         (fallback.empty() ? "" : "`" + fallback + "`") + " | " + std::string(key.help) +
         (key.secret ? " Never printed." : "") + " |\n";
}

}  // namespace

std::span<const Key> config_keys() { return keys; }
std::span<const Key> provider_keys() { return of_provider; }
std::span<const ShortFlag> short_flags() { return shorts; }

std::string reference_page() {
  std::string page =
      "# Configuration\n\n"
      "Every key can be set in the TOML file named by `--config FILE` (or `SLUICE_CONFIG`), by an environment\n"
      "variable and by a flag. The flag wins over the variable, the variable over the file, the file over the "
      "default.\n"
      "For `server.listen` they are `listen = \"…\"` under `[server]`, `SLUICE_SERVER_LISTEN` and `--server.listen`.\n"
      "An unknown key, flag or `SLUICE_` variable is an error. `sluice config` prints what is in force and where each\n"
      "value came from. In variables and flags the items of a list are separated by `|`.\n\n"
      "Short flags: ";
  for (const auto& flag : shorts) {
    page += "`" + std::string(flag.flag) + "` is `--" + std::string(flag.key) + "`" +
            (&flag == &shorts[std::size(shorts) - 1] ? ".\n" : ", ");
  }
  page += "\n| key | type | default | what it is for |\n|---|---|---|---|\n";
  for (const auto& key : keys) append_row(page, key, "");
  page +=
      "\n## Model providers\n\n"
      "`[providers.NAME]` describes a provider; an agent names it in `model.provider`. `anthropic`, "
      "`openai-responses`,\n"
      "`openai-chat` and `offline` are there already. Their keys come from `ANTHROPIC_API_KEY` and `OPENAI_API_KEY`,\n"
      "and `ANTHROPIC_BASE_URL` and `OPENAI_BASE_URL` move them. Any other name works too, for a server that speaks "
      "one\n"
      "of these dialects.\n\n"
      "| key | type | default | what it is for |\n|---|---|---|---|\n";
  for (const auto& key : of_provider) append_row(page, key, "providers.NAME.");
  return page;
}

}  // namespace sluice::app
