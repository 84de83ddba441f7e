#include <array>

#include "config/config.h"

namespace sluice::config {
namespace {

using enum KeyType;

constexpr Key keys[] = {
    {"server.listen", text, "127.0.0.1:8080", "Address and port to listen on; port 0 picks a free one."},
    {"server.data", text, "./sluice-data", "Directory of the database and of bootstrap.json; created with mode 0700."},
    {"server.public_base_url", text, "",
     "The URL that clients use, without a trailing slash; links in problems begin with it. Empty: derived from "
     "server.listen."},
    {"server.tls_cert", text, "", "PEM file with the certificate chain. Empty: plain HTTP."},
    {"server.tls_key", text, "", "PEM file with the certificate's private key."},
    {"server.admin_key", text, "",
     "The admin key: sk_adm_ and more, 20 characters at least. Empty: generated at the first start, in "
     "bootstrap.json.",
     "", 0, true},
    {"server.drain_seconds", integer, "20", "How long SIGTERM waits for runs and answers in flight."},
    {"server.metrics_public", boolean, "false", "Serve /metrics without the admin key."},

    {"log.format", text, "human", "Format of log lines on standard error.", "human|json"},
    {"log.level", text, "info", "The least important level of log lines that are written.", "debug|info|warn|error"},

    {"store.url", text, "",
     "sqlite:PATH of the database file, or postgresql://USER:PASSWORD@HOST/DATABASE, which several servers may share "
     "(docs/nodes.md). Empty: sluice.db in the data directory."},
    {"store.durability", text, "standard",
     "standard: accepted messages and ends of runs are on disk before they are reported, deltas survive the "
     "death of the process; strict: every commit is on disk.",
     "standard|strict"},
    {"store.readers", integer, "2", "Threads that read the database.", "", 1},

    {"limits.request_body_bytes_max", integer, "4194304", "A larger body is refused with 413.", "", 1024},
    {"limits.connections_max", integer, "20000",
     "Connections at once, and never more than half of the process's descriptors; more are refused with 503.", "", 1},
    {"limits.keyless_connections_per_address", integer, "0",
     "Connections at once from one address on which no valid key was shown; more are refused with 503. For "
     "IPv6, a network of 64 bits counts as one address. 0: half of all (docs/deploy.md).",
     "", 0},
    {"limits.request_head_seconds", integer, "10", "Time for a request's head to arrive.", "", 1},
    {"limits.request_body_seconds", integer, "60", "Time for a request's body to arrive.", "", 1},
    {"limits.keep_alive_seconds", integer, "75", "Idle connections are closed after this.", "", 1},
    {"limits.requests_per_second", integer, "10000",
     "How many requests per second one service key, or one sandbox, may make on average; more are answered "
     "with 429. 0: no limit.",
     "", 0},
    {"limits.burst", integer, "20000", "How many requests of a key may come at once, after a pause.", "", 1},
    {"limits.wrong_keys_per_minute", integer, "60",
     "Wrong keys, tokens and logins from one address; more are answered with 429 instead of 401. Valid ones "
     "from the same address are always accepted. 0: no limit.",
     "", 0},
    {"limits.disk_free_bytes_min", integer, "0",
     "No runs are started, and nothing is created or uploaded (503), while the disk of the data directory has less "
     "free than this. 0: a twentieth of the disk, 1 GiB at most."},
    {"limits.write_stall_seconds", integer, "120", "A client that takes no bytes for this long is cut off.", "", 1},

    {"models.default_provider", text, "offline", "Provider of the demo tenant's default agent."},
    {"models.default_model", text, "offline", "Model of the demo tenant's default agent."},
    {"models.retry_count_max", integer, "4",
     "Attempts after a failed call to a model, as long as none of its answer was sent."},
    {"models.connect_seconds", integer, "10", "Time to reach a provider.", "", 1},
    {"models.idle_seconds", integer, "120", "Silence of a provider that counts as a failure.", "", 1},
    {"models.total_seconds", integer, "1800", "Time for one answer of a model.", "", 1},
    {"models.agent_base_urls", list, "",
     "Where an agent's own base_url may lead: the beginnings of URLs, or * for any public address. Empty: only "
     "to its provider's base_url."},
    {"models.proxy", text, "", "Proxy for calls to providers. Empty: http_proxy, https_proxy and no_proxy decide."},
    {"models.ca_file", text, "", "PEM file of certificate authorities to trust. Empty: the system's."},

    {"filler.phrases", list, "One moment…|Still working on it…|Almost there…",
     "Phrases that bridge the silence before a slow answer, sent in turn."},
    {"filler.first_ms", integer, "400", "Silence before the first phrase."},
    {"filler.every_ms", integer, "4000", "Silence between two phrases.", "", 1},
    {"filler.count_max", integer, "5", "The most phrases for one answer."},
    {"filler.model_provider", text, "", "Provider of a small model that writes the phrases. Empty: filler.phrases."},
    {"filler.model_name", text, "", "That model's name."},

    {"sandbox.driver", text, "auto",
     "How sandboxes are made. auto: namespaces, or no tools at all where they cannot be made; namespaces or "
     "oci: the server does not start if it cannot make them; off: agents have no tools.",
     "auto|namespaces|oci|off"},
    {"sandbox.root", text, "",
     "Directory of an image that is the sandbox's root. Empty: the host's own /usr, /bin, /lib."},
    {"sandbox.extra_paths", list, "",
     "More directories of the host that a sandbox sees, read-only, at the same place."},
    {"sandbox.warm_target", integer, "2", "Sandboxes built ahead, so that a run need not wait for one."},
    {"sandbox.host_uid", integer, "0",
     "Started as root: the user and group that own the files of sandboxes on disk, and, with "
     "sandbox.host_uid_count 0 or the driver oci, the user of sandboxes outside of them. 0: the one with which "
     "the data directory was begun; a new one is begun with 2100000000."},
    {"sandbox.host_uid_count", integer, "4096",
     "Started as root, with the driver namespaces: how many users after sandbox.host_uid the sandboxes take in "
     "turn, so that none uses up what the kernel counts by user for another one. 0: all have sandbox.host_uid."},
    {"sandbox.oci_runtime", text, "",
     "With the driver oci: crun or runc. Empty: the one that is installed, preferably crun."},
    {"sandbox.memory_mib", integer, "2048", "Memory of a sandbox. 0: no limit."},
    {"sandbox.processes_max", integer, "512", "Processes and threads of a sandbox."},
    {"sandbox.cpu_seconds", integer, "3600", "Processor time of one process in a sandbox. 0: no limit."},
    {"sandbox.cpu_percent", integer, "0", "Share of one core that a sandbox may use. 0: no limit."},
    {"sandbox.open_files_max", integer, "4096", "Open files of one process in a sandbox.", "", 64},
    {"sandbox.file_mib", integer, "1024", "Size of one file that a sandbox writes. 0: no limit."},
    {"sandbox.workspace_mib", integer, "1024", "How much a run may add to its workspace.", "", 1},
    {"sandbox.tenant_workspaces_mib", integer, "20480",
     "Total size of the kept workspaces of all conversations of a tenant. 0: no limit."},
    {"sandbox.workspace_files_max", integer, "200000", "How many files a run may add to its workspace.", "", 16},
    {"sandbox.keep_seconds", integer, "300",
     "Time for each step of work on a run's files (copy or compare a workspace, read or unpack a skill, read or keep a "
     "file); "
     "after it the run fails.",
     "", 1},
    {"sandbox.tmp_mib", integer, "256", "Size of a sandbox's /tmp.", "", 1},

    {"tools.timeout_seconds", integer, "120", "Time limit of a tool call that sets none.", "", 1},
    {"tools.timeout_seconds_max", integer, "600", "The longest time limit that a tool call can set.", "", 1},
    {"tools.result_chars_max", integer, "30000", "How many characters of a tool's result a model is shown.", "", 1000},
    {"tools.output_bytes_max", integer, "4194304", "How much of one tool call's output a run's trace keeps.", "", 1000},
    {"tools.rounds_max", integer, "50", "Rounds of tool calls in one run.", "", 1},
    {"tools.urls", list, "",
     "Where agents' webhook tools and MCP servers may be: the beginnings of URLs, or * for any public address. Empty: "
     "nowhere."},
    {"tools.setup_seconds", integer, "600", "Time limit of an environment's setup script.", "", 1},

    {"harness.dir", text, "",
     "Directory into which sluice harness install puts agent programs. Empty: harness in the data directory."},
    {"harness.start_ms_max", integer, "60000", "Time until an agent program's first output.", "", 1},
    {"harness.silence_ms_max", integer, "600000",
     "Silence of an agent program that counts as a failure, while no approval is pending and no tool runs.", "", 1},
    {"harness.tool_silence_ms_max", integer, "1800000",
     "Silence of an agent program that counts as a failure while a tool of its own runs.", "", 1000},

    {"files.watch", boolean, "true",
     "Report each file of a workspace that is created, changed or deleted, as it happens."},
    {"files.ignored", list, ".git|node_modules", "Directories whose files are not reported, wherever they are."},
    {"files.webhook_url", text, "", "URL to which file events are also POSTed. Empty: none."},
    {"files.webhook_secret", text, "", "Signs file events: HMAC-SHA256 of the body in Sluice-Signature.", "", 0, true},
    {"files.hook_command", list, "",
     "A program and its arguments that receives file events as NDJSON on its standard input."},
    {"files.asset_extensions", list, "",
     "Which files under assets/ are returned. Empty: the list in docs/workspaces.md."},

    {"files.extensions", list, "", "Which files may be uploaded. Empty: the list in docs/workspaces.md."},
    {"files.upload_bytes_max", integer, "100000000", "Total size of the files of one upload, at most 512 MB.", "", 1},
    {"files.tenant_bytes_max", integer, "10000000000", "Total size of all files of a tenant.", "", 1},
    {"files.store", text, "",
     "Where the contents of files and skills are stored: s3://BUCKET/PREFIX. Empty: files in the data "
     "directory."},
    {"files.s3_endpoint", text, "https://s3.amazonaws.com",
     "The object store: http(s)://HOST:PORT, addressed by path."},
    {"files.s3_region", text, "us-east-1", "The object store's region, which is part of every signature."},
    {"files.s3_access_key", text, "", "Id of the access key at the object store.", "", 0, true},
    {"files.s3_secret_key", text, "", "The secret key, which signs requests to the object store.", "", 0, true},

    {"capacity.max_running", integer, "1024", "Runs that work at once: the slots.", "", 1},
    {"capacity.max_sticky", integer, "64", "Slots that may be pinned to sticky conversations."},
    {"capacity.max_held", integer, "10000", "Messages that may wait for a slot; more are refused with 429."},
    {"capacity.max_hold_seconds", integer, "120", "How long a message waits for a slot.", "", 1},

    {"node.name", text, "", "Name of this server among those that share the store. Empty: the host's name."},
    {"node.beat_ms", integer, "500", "How often this server writes the beat that shows the others that it is alive.",
     "", 50},
    {"node.dead_ms", integer, "1500",
     "Silence after which the other servers take over this server's runs, and after which it suspends them "
     "itself. At least three times node.beat_ms.",
     "", 150},

    {"approvals.expire_seconds", integer, "900", "How long a run waits for a human, if it sets no time.", "", 1},
    {"approvals.expire_seconds_max", integer, "604800", "The longest time that a run can set.", "", 1},
    {"approvals.decision_horizon_seconds", integer, "900", "How far in the future a signed decision's exp may be.", "",
     1},

    {"assistant.leave_grace_ms", integer, "2000",
     "How long a chat's turn continues after its last reader has left, unless the request asked to keep it. 0: "
     "not at all."},

    {"vault.key", text, "", "The key that seals secrets: a line of a key file. Empty: vault.key_file.", "", 0, true},
    {"vault.key_file", text, "",
     "File of keys, the current one first. Empty: the credential sluice.vault.key of systemd, or vault.key in "
     "the data directory, which is created."},

    {"egress.private_addresses", list, "", "Ranges (CIDR) that agents may reach although they are private."},
    {"egress.host_addresses", list, "", "NAME ADDRESS: hosts whose names are not looked up."},
    {"egress.ca_file", text, "",
     "PEM file of the authorities by which hosts' certificates are checked. Empty: the system's."},
    {"egress.plaintext_secrets", boolean, "false", "Permits secrets in requests without TLS."},
    {"egress.connect_seconds", integer, "10", "Time to reach a host.", "", 1},
    {"egress.idle_seconds", integer, "300", "Connections on which nothing moves are closed after this.", "", 1},

    {"webhooks.urls", list, "*",
     "Where tenants' webhook_url may lead: the beginnings of URLs, or * for any public address."},

    {"workflows.http_urls", list, "",
     "Where workflows' http blocks may lead: the beginnings of URLs, or * for any public address. Empty: nowhere."},

    {"repositories.allowed_urls", list,
     "https://github.com/|https://gitlab.com/|https://bitbucket.org/|https://codeberg.org/",
     "Which repositories may be cloned: the beginnings of URLs, or * for anything at a public address."},
    {"repositories.credentials", list, "", "ALIAS HOST USERNAME PASSWORD, for repositories that name the alias.", "", 0,
     true},
    {"repositories.clone_seconds", integer, "600", "Time limit of a clone.", "", 1},

    {"runner.urls", list, "",
     "Separate runners that carry out the runs, without /stream; SANDBOX_URL names one too. They have no "
     "approvals, secrets or sticky sandboxes. Empty: this server carries out runs itself."},
    {"runner.key", text, "", "The key that requests to a runner must have. Empty: runner_key of bootstrap.json.", "", 0,
     true},
    {"runner.callback_base_url", text, "",
     "The URL at which those runners reach this server. Empty: server.public_base_url."},
    {"runner.agent_urls", list, "",
     "Whose dispatches this runner accepts: the beginnings of agent_url, or *. Empty: `sluice runner` accepts "
     "all, `sluice serve` those whose agent_url is its own (runner.callback_base_url, server.public_base_url)."},
    {"runner.sandbox_urls", list, "",
     "Runners that a chat or a workflow may name itself: the beginnings of URLs, or * for any at a public "
     "address. Requests to them have runner.key. Empty: none."},
    {"runner.concurrent_max", integer, "64", "Dispatches at once by POST /stream; more are refused with 503.", "", 1},
    {"runner.spool_bytes_max", integer, "16777216",
     "How many bytes of lines a runner keeps of a dispatch until they are acknowledged; then its agent waits.", "",
     65536},
    {"runner.reattach_seconds", integer, "60",
     "How long separate runners continue a run while the connection to this server is broken.", "", 1},
    {"runner.wait_seconds", integer, "30", "How long a run waits for a separate runner that has a free slot.", "", 0},
};

constexpr Key of_provider[] = {
    {"dialect", text, "", "The protocol that the provider speaks.", "anthropic|openai-responses|openai-chat|offline"},
    {"base_url", text, "", "The provider's URL. Empty: the dialect's own."},
    {"api_key", text, "", "The provider's key.", "", 0, true},
    {"api_key_env", text, "", "Environment variable that holds the provider's key, if api_key is empty."},
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
      "Set any key in the TOML file named by `--config FILE` (or `SLUICE_CONFIG`), by an environment variable or by a "
      "flag.\n"
      "A flag overrides the variable, the variable overrides the file, and the file overrides the default. For "
      "`server.listen` these\n"
      "are `listen = \"…\"` under `[server]`, `SLUICE_SERVER_LISTEN` and `--server.listen`. In variables and flags, "
      "the items of a list\n"
      "are separated by `|`. An unknown key, flag or `SLUICE_` variable is an error. `sluice config` prints the values "
      "in force and\n"
      "where each came from.\n"
      "\n"
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
      "`openai-chat` and `offline` exist already. Their keys come from `ANTHROPIC_API_KEY` and `OPENAI_API_KEY`, and\n"
      "`ANTHROPIC_BASE_URL` and `OPENAI_BASE_URL` change their addresses. Any other name works too, for a server that "
      "speaks one of\n"
      "these dialects.\n"
      "\n"
      "| key | type | default | what it is for |\n|---|---|---|---|\n";
  for (const auto& key : of_provider) append_row(page, key, "providers.NAME.");
  return page;
}

}  // namespace sluice::config
