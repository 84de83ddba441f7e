#include <algorithm>
#include <optional>
#include <utility>

#include "runs/runs.h"
#include "tools/ask_tools.h"
#include "tools/host_call_output.h"
#include "tools/mcp_access.h"
#include "tools/mcp_link.h"
#include "tools/mcp_token.h"
#include "tools/sandbox_tools.h"
#include "tools/script_run.h"
#include "tools/script_tool.h"
#include "tools/tools.h"

namespace sluice::tools {
namespace {

constexpr int64_t http_open_ms_max = 10'000;
constexpr int64_t stdio_open_ms_max = 30'000;  // a program has to start first

// Who carries a tool out.
struct Bearer {
  enum class Kind : uint8_t { webhook, mcp, resource, script, client };
  Kind kind = Kind::client;
  const model::WebhookTool* webhook = nullptr;
  McpLink* link = nullptr;  // of mcp and resource
  std::string own_name;     // as the server of MCP calls it
};

// Results of a server may link to its resources. It bears the server's name, so that the agent's policy on the server's
// tools is a policy on what can be read there too.
model::HostTool resource_tool(const std::string& server) {
  return {
      .name = mcp::joined_name(server, "read_resource"),
      .description = "Reads a resource of the MCP server " + server + ", by its URI, as results of its tools name it.",
      .parameters = R"({"type":"object","properties":{"uri":{"type":"string","description":"The resource's URI"}},)"
                    R"("required":["uri"],"additionalProperties":false})"};
}

class RunToolbox final : public Toolbox, private McpLinkListener {
 public:
  RunToolbox(const Context& context, const dispatch::Dispatch& dispatch, sessions::SandboxSession* session)
      : context_(context), dispatch_(dispatch), kit_(dispatch.agent.kit), session_(session) {}

  void open(Callback<void(std::string_view, std::string)> log, Callback<void()> ready) override {
    log_ = std::move(log);
    ready_ = std::move(ready);
    waited_for_ = 1;
    const auto alive = lifetime_.watch();
    for (const auto& server : kit_.mcp_servers) {
      McpLinkListener& self = *this;
      links_.push_back(std::make_unique<McpLink>(context_, dispatch_, server.name, self));
      if (!server.url.empty()) open_http(*links_.back(), server);
      if (alive.is_over()) return;
    }
    open_in_box();
    if (!alive.is_over()) settle();
  }

  void renew(Callback<void(bool)> ready) override {
    renewed_ = std::move(ready);
    finish_renewal();
  }

  const std::vector<model::HostTool>& tools() const override { return tools_; }
  bool has(std::string_view name) const override { return find(name) != nullptr; }
  bool is_of_client(std::string_view name) const override {
    const auto* bearer = find(name);
    return bearer != nullptr && bearer->kind == Bearer::Kind::client;
  }

  std::unique_ptr<HostCall> call(const models::ToolCall& call, std::string_view step_id,
                                 HostCallListener& listener) override {
    const auto* bearer = find(call.name);
    SLUICE_CHECK(bearer != nullptr && bearer->kind != Bearer::Kind::client);
    if (bearer->kind == Bearer::Kind::webhook) {
      return call_webhook(context_, dispatch_, *bearer->webhook, call, step_id, listener);
    }
    if (bearer->kind == Bearer::Kind::mcp) return bearer->link->call(bearer->own_name, call, listener);
    if (bearer->kind == Bearer::Kind::resource) return bearer->link->read(call, listener);
    return run_script(context_, dispatch_, *session_, *this, call, listener);
  }

 private:
  // ── servers of MCP ──
  void open_http(McpLink& link, const model::McpServer& server) {
    auto headers = mcp_headers(context_, dispatch_, server);
    if (!headers) return leave_out(server.name, headers.error().what);
    ++waited_for_;
    auto token = server.oauth ? std::make_unique<McpToken>(context_, dispatch_, server) : nullptr;
    const auto ms_max = http_open_ms_max + (server.oauth ? mcp_token_ms_max : 0);
    link.open(make_mcp_http(context_, server.url, std::move(headers).take(), std::move(token), link), ms_max,
              [this, &link](std::string trouble) { hear_opened(link, trouble); });
  }

  void open_in_box() {
    const auto is_in_box = [](const model::McpServer& server) { return server.url.empty(); };
    if (std::ranges::none_of(kit_.mcp_servers, is_in_box)) return;
    if (session_ == nullptr) {
      const auto alive = lifetime_.watch();
      for (const auto& server : kit_.mcp_servers) {
        if (is_in_box(server)) leave_out(server.name, "it runs in a sandbox, and there is none on this server");
        if (alive.is_over()) return;
      }
      return;
    }
    ++waited_for_;
    session_->open(lifetime_.guard([this] {
      for (std::size_t i = 0; i < links_.size(); ++i) {
        if (kit_.mcp_servers[i].url.empty()) start_in_box(*links_[i], kit_.mcp_servers[i]);
      }
      settle();
    }));
  }

  void start_in_box(McpLink& link, const model::McpServer& server) {
    ++waited_for_;
    auto log = [this, &server](const std::string& line) { log_("debug", "MCP server " + server.name + ": " + line); };
    link.open(start_mcp_stdio(*session_, server, log, link), stdio_open_ms_max,
              [this, &link](std::string trouble) { hear_opened(link, trouble); });
  }

  void hear_opened(McpLink& link, const std::string& trouble) {
    const auto alive = lifetime_.watch();
    if (!trouble.empty()) leave_out(link.server(), trouble);
    if (!alive.is_over()) settle();
  }

  void leave_out(const std::string& server, const std::string& why) {
    log_("warn", "The tools of the MCP server \"" + server + "\" are left out: " + why + ".");
  }

  void on_mcp_log(std::string_view level, std::string words) override { log_(level, std::move(words)); }
  void on_mcp_listed() override {
    is_stale_ = true;
    finish_renewal();
  }

  // ── which tools there are ──
  void settle() {
    if (--waited_for_ > 0) return;
    const auto alive = lifetime_.watch();
    is_stale_ = false;
    list_all();
    if (alive.is_over()) return;
    has_listed_ = true;
    std::exchange(ready_, nullptr)();
  }

  void finish_renewal() {
    const bool is_listing = std::ranges::any_of(links_, [](const auto& link) { return link->is_listing(); });
    if (!renewed_ || is_listing) return;
    const bool have_changed = std::exchange(is_stale_, false);
    if (have_changed) list_all();
    std::exchange(renewed_, nullptr)(have_changed);
  }

  // The first time it may drop this, as all that logs.
  void list_all() {
    tools_.clear();
    bearers_.clear();
    const auto alive = lifetime_.watch();
    list_webhooks();
    if (alive.is_over()) return;
    list_mcp();
    if (alive.is_over()) return;
    if (kit_.code_mode && session_ != nullptr) add(script_tool(tools_), {.kind = Bearer::Kind::script});
    for (const auto& tool : dispatch_.extras.client_tools) {
      if (alive.is_over()) return;
      add(tool, {.kind = Bearer::Kind::client});
    }
  }

  void list_webhooks() {
    const auto alive = lifetime_.watch();
    for (const auto& webhook : kit_.tools) {
      if (!context_.sign_webhook) {
        if (!has_listed_)
          log_("warn", "The tool " + webhook.tool.name + " is left out: webhooks cannot be signed here.");
      } else {
        add(webhook.tool, {.kind = Bearer::Kind::webhook, .webhook = &webhook});
      }
      if (alive.is_over()) return;
    }
  }

  void list_mcp() {
    const auto alive = lifetime_.watch();
    for (const auto& link : links_) {
      for (const auto& tool : link->tools()) {
        auto shown = tool;
        shown.name = mcp::joined_name(link->server(), tool.name);
        add(std::move(shown), {.kind = Bearer::Kind::mcp, .link = link.get(), .own_name = tool.name});
        if (alive.is_over()) return;
      }
      auto reading = resource_tool(link->server());
      const bool is_its_own = has(reading.name);  // a tool that the server itself offers under this name
      if (link->has_resources() && !is_its_own) {
        add(std::move(reading), {.kind = Bearer::Kind::resource, .link = link.get()});
      }
      if (alive.is_over()) return;
    }
  }

  // What is left out is logged the first time only: servers may list anew again and again. May drop this.
  void add(model::HostTool tool, Bearer bearer) {
    if (is_taken(tool.name)) {
      if (has_listed_) return;
      return log_("warn", "A tool named " + tool.name + " is left out: there is another of that name.");
    }
    tools_.push_back(std::move(tool));
    bearers_.push_back(std::move(bearer));
  }

  bool is_taken(std::string_view name) const {
    const bool is_in_box = session_ != nullptr && kit_.agent_type == "native" && is_sandbox_tool(name);
    return is_in_box || (dispatch_.may_ask && is_ask_tool(name)) || has(name);
  }

  const Bearer* find(std::string_view name) const {
    const auto found = std::ranges::find(tools_, name, &model::HostTool::name);
    return found == tools_.end() ? nullptr : &bearers_[static_cast<std::size_t>(found - tools_.begin())];
  }

  const Context& context_;
  const dispatch::Dispatch& dispatch_;
  const model::AgentKit& kit_;
  sessions::SandboxSession* const session_;
  Callback<void(std::string_view, std::string)> log_;
  Callback<void()> ready_;
  Callback<void(bool)> renewed_;
  bool has_listed_ = false;
  bool is_stale_ = false;  // some server's tools were listed anew
  int waited_for_ = 0;
  std::vector<model::HostTool> tools_;
  std::vector<Bearer> bearers_;  // of the tool at the same place
  Lifetime lifetime_;
  std::vector<std::unique_ptr<McpLink>> links_;
};

}  // namespace

std::unique_ptr<Toolbox> make_toolbox(const Context& context, const dispatch::Dispatch& dispatch,
                                      sessions::SandboxSession* session) {
  return std::make_unique<RunToolbox>(context, dispatch, session);
}

}  // namespace sluice::tools
