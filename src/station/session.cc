#include "station/session.h"

#include <algorithm>
#include <utility>

#include "base/json.h"

namespace sluice::station {
namespace {

constexpr int64_t bootstrap_idle_ms_max = 30'000;
constexpr int64_t bootstrap_total_ms_max = 60'000;
constexpr std::size_t answer_bytes_max = 8 * 1024 * 1024;  // of /env and /config
constexpr int64_t grace_ms = 60'000;                       // S-6: the loop ends itself before
// Proxies and callers take a connection that says nothing for dead; a tool may be silent for long.
constexpr int64_t quiet_us_max = 30'000'000;

std::string_view origin_of(std::string_view url) {
  const auto authority = url.find("//");
  return authority == std::string_view::npos ? url : url.substr(0, url.find('/', authority + 2));
}

// The box is led only to the server that the runner itself speaks to: another could be one in the runner's own network.
dispatch::WorkspaceAccess access_to(const ConfigAnswer& config, std::string_view agent_url) {
  if (config.bearer.empty() || config.workspace_use == model::WorkspaceUse::none) return {};
  if (origin_of(config.workspace_url) != origin_of(agent_url)) return {};
  return {config.workspace_url, config.bearer, config.workspace_use};
}

// Tenants' sandboxes take turns for what they share here. A workspace's API has its tenant's id in its path; in that of
// another kind of server there may be none.
model::TenantId tenant_of(const std::string& workspace_url) {
  const auto slash = workspace_url.rfind('/');
  const auto id = model::WorkspaceId::parse(std::string_view(workspace_url).substr(slash + 1));
  return id ? model::TenantId{id->ulid} : model::TenantId{};
}

// Ends in a full stop: what a workspace says of itself may have one, or none.
std::string sentence(std::string words) {
  if (!words.ends_with('.') && !words.ends_with('!') && !words.ends_with('?')) words += '.';
  return words;
}

// The work holds it, and the session the work.
class CallerAsWitness final : public dispatch::Witness {
 public:
  explicit CallerAsWitness(std::weak_ptr<Session> session) : session_(std::move(session)) {}
  void see(Callback<void()> seen) override {
    if (const auto session = session_.lock()) session->await_acknowledgement(std::move(seen));
  }

 private:
  const std::weak_ptr<Session> session_;
};

}  // namespace

Session::Session(const StationNeeds& needs, const StationOptions& options, StreamRequest request,
                 std::string request_id, Owner& owner)
    : needs_(needs),
      options_(options),
      request_(std::move(request)),
      request_id_(std::move(request_id)),
      owner_(owner),
      began_us_(needs.loop.monotonic_us()),
      account_(std::make_shared<Account>(needs.loop, Account::Terms{request_.keep, options.spool_bytes_max},
                                         static_cast<AccountListener&>(*this))),
      phase_us_(began_us_),
      spoke_us_(began_us_) {}

void Session::start(std::shared_ptr<net::Exchange> exchange, net::Headers headers) {
  account_->attach(std::move(exchange), request_.reader, std::move(headers), 0);
  if (!outcome_.empty()) return;
  phase("dispatch", "Dispatch accepted");
  watch_quiet();
  redeem("env", request_.otp_setup, &Session::hear_env);
}

// ── bootstrap ───────────────────────────────────────────────────────────────────────────────────

void Session::redeem(std::string_view what, const std::string& token, void (Session::*then)(std::string_view body)) {
  const auto url = request_.agent_url + "/" + std::string(what);
  net::ClientRequest request{.url = url,
                             .headers = {{"Authorization", token}, {"Accept", "application/json"}},
                             .idle_ms_max = bootstrap_idle_ms_max,
                             .total_ms_max = bootstrap_total_ms_max};
  fetch_ = std::make_unique<Fetch>(needs_.client, std::move(request), answer_bytes_max,
                                   Patience{needs_.loop, request_.keep}, [this, url, then](Result<Fetched> got) {
                                     fetch_.reset();
                                     if (const auto body = redeemed(url, got)) (this->*then)(*body);
                                   });
}

std::optional<std::string_view> Session::redeemed(const std::string& url, const Result<Fetched>& got) {
  if (!got) {
    fail("bootstrap_failed", "GET " + url + ": " + got.error().what);
    return std::nullopt;
  }
  const auto& answer = got.value();
  if (answer.status == 200) return answer.body;
  const bool refused = answer.status == 401 || answer.status == 403;
  const auto words = "GET " + url + " was answered" + words_of(answer);
  if (refused && answer.after_cut) {
    // The lost answer used up the tokens; the caller can dispatch again with other tokens.
    fail("unavailable", sentence(words) + " An earlier answer to it broke off.");
  } else if (refused) {
    fail("token_invalid", sentence(words) + " A token is good once, and not for long.");
  } else {
    fail("bootstrap_failed", words);
  }
  return std::nullopt;
}

void Session::hear_env(std::string_view body) {
  auto env = read_env(body);
  if (!env) return fail("bootstrap_failed", "The answer to " + request_.agent_url + "/env: " + env.error().what);
  env_ = std::move(env).take();
  phase("bootstrap", "Environment redeemed: " + std::to_string(env_.variables.size()) + " variables, " +
                         (env_.script.empty() ? "no setup script" : "a setup script"));
  redeem("config", request_.otp_run, &Session::hear_config);
}

void Session::hear_config(std::string_view body) {
  auto read = read_config(body, options_.default_model);
  if (!read) return fail("bootstrap_failed", "The answer to " + request_.agent_url + "/config: " + read.error().what);
  auto config = std::move(read).take();
  // The dispatcher knows whether a known agent type is available on this machine.
  if (const auto& agent_type = config.agent.kit.agent_type; !model::is_agent_type(agent_type)) {
    return fail("agent_type_unsupported", "This runner knows no agent of the type " + agent_type + ".");
  }
  phase("bootstrap", "Configuration redeemed: agent " + config.agent.name + ", model " + config.agent.model.provider +
                         "/" + config.agent.model.name + ", " + std::to_string(config.skills.size()) + " skills, " +
                         std::to_string(config.history.size()) + " earlier turns");
  begin(std::move(config));
}

void Session::begin(ConfigAnswer config) {
  for (const auto& name : config.unused) {
    send_event(
        model::encode(model::events::Log{.level = "warn",
                                         .text = "The configuration has " + name + ", which this runner does not use."},
                      now()));
  }
  const auto access = access_to(config, request_.agent_url);
  if (!config.files.empty() && origin_of(config.files_url) != origin_of(request_.agent_url)) {
    return fail("bootstrap_failed",
                "The answer to " + request_.agent_url + "/config: files/url leads to another server.");
  }
  supplies_ =
      std::make_shared<WorkspaceSupplies>(needs_.client, needs_.loop, needs_.ids,
                                          Workspace{request_.agent_url, std::move(config.files_url),
                                                    std::move(config.bearer), request_.otp_upload, request_.keep});
  config.agent.tenant_id = tenant_of(config.workspace_url);
  dispatch::Dispatch dispatch{.run = needs_.ids.make<model::RunId>(),
                              .agent = std::move(config.agent),
                              .supplies = supplies_,
                              .history = std::move(config.history),
                              .prompt = request_.prompt,
                              .max_rounds = config.max_rounds,
                              .filler = config.filler && request_.profile == dispatch::Profile::extended,
                              .workspace = access};
  if (request_.careful) dispatch.witness = std::make_shared<CallerAsWitness>(weak_from_this());
  dispatch.resumed = config.resumed;
  dispatch.told_text = std::move(config.told_text);
  dispatch.told_reasoning = std::move(config.told_reasoning);
  if (config.inference) dispatch.extras.inference.emplace();  // its words are the agent's already
  dispatch.materials = {.repository = std::move(config.repository),
                        .skills = std::move(config.skills),
                        .files = std::move(config.files),
                        .variables = std::move(env_.variables),
                        .setup_script = std::move(env_.script)};
  runtime_ = needs_.loop.after(Millis{dispatch.agent.limits.max_runtime_seconds * 1000 + grace_ms}, [this] {
    fail("runtime_exceeded", "The run took longer than its limits.max_runtime_seconds, and did not end by itself.");
  });
  work_ = needs_.dispatcher.dispatch(std::move(dispatch), *this);
}

// ── run ─────────────────────────────────────────────────────────────────────────────────────────

void Session::on_event(model::RunEvent event) {
  if (!outcome_.empty()) return;
  if (event.kind == model::EventKind::text) {
    all_text_ += event.body;
  } else if (event.kind == model::EventKind::replaced) {
    model::take_back(all_text_, event.body);
    round_at_ = std::min(round_at_, all_text_.size());
  } else if (event.kind == model::EventKind::step) {
    round_at_ = all_text_.size();
  } else if (auto log = model::event_as<model::events::Log>(event); log && !log->phase.empty()) {
    phase_us_ = needs_.loop.monotonic_us();
    phases_told_.insert(std::move(log->phase));
  }
  send_event(std::move(event));
}

void Session::on_finished(model::Usage usage) {
  if (!outcome_.empty()) return;
  // Readers of deltas have the whole text; other readers get the last part as the answer.
  const bool all = request_.profile == dispatch::Profile::extended || round_at_ == all_text_.size();
  last_phase("run", "The agent has answered");
  settle("result", [this, all, usage](std::string& out, Timestamp at) {
    const auto answer = std::string_view(all_text_).substr(all ? 0 : round_at_);
    dispatch::append_result_line(out, answer, usage, at, request_.profile);
  });
}

void Session::on_failed(model::Problem problem) {
  if (!outcome_.empty()) return;
  last_phase("run", "The agent has failed");
  settle("error", [problem = std::move(problem)](std::string& out, Timestamp at) {
    dispatch::append_error_line(out, problem, at);
  });
}

// ── the end ─────────────────────────────────────────────────────────────────────────────────────

void Session::stop() { fail("unavailable", "The runner is stopping."); }

void Session::kill(Callback<void()> gone) {
  if (over_) {
    needs_.loop.defer(std::move(gone));
    return account_->drop();
  }
  mourners_.push_back(std::move(gone));
  if (outcome_.empty()) return leave("killed");
  last_line_ = nullptr;  // it is ending by itself
}

void Session::await_acknowledgement(Callback<void()> seen) {
  flush();
  account_->when_safe(std::move(seen));
}

void Session::on_room(bool has_room) {
  if (work_) work_->hold_back(!has_room);
}

void Session::fail(std::string_view code, std::string message) {
  settle("error", [code, message = std::move(message)](std::string& out, Timestamp at) {
    dispatch::append_error_line(out, code, message, at);
  });
}

void Session::leave(Outcome outcome) { settle(outcome, nullptr); }

void Session::settle(Outcome outcome, LastLine last_line) {
  if (!outcome_.empty()) return;
  outcome_ = outcome;
  last_line_ = std::move(last_line);
  runtime_.cancel();
  fetch_.reset();
  // S-10: nothing is written back any more.
  if (supplies_) supplies_->close();
  // Deferred, because the caller is still in its callback.
  needs_.loop.defer([self = shared_from_this()] {
    if (!self->work_) return self->settled();
    self->work_->stop([weak = self->weak_from_this()] {
      if (const auto session = weak.lock()) session->settled();
    });
  });
}

void Session::settled() {
  quiet_.cancel();
  const auto self = shared_from_this();
  if (last_line_) {
    if (work_) last_phase("settle", "Nothing of the run is left here");
    last_line_(unsent_, stamp(now()));
    flush();
  }
  over_ = true;
  // Its lines may be kept for a while; nothing else need be.
  work_.reset();
  supplies_.reset();
  all_text_ = {};
  owner_.on_over(*this, outcome_);
  for (auto& gone : std::exchange(mourners_, {})) gone();
  last_line_ ? account_->close() : account_->drop();
}

// ── lines ───────────────────────────────────────────────────────────────────────────────────────

void Session::phase(std::string_view name, std::string_view message) {
  const int64_t now_us = needs_.loop.monotonic_us();
  send_event(dispatch::phase_event(name, message, (now_us - std::exchange(phase_us_, now_us)) / 1000, now()));
}

void Session::last_phase(std::string_view name, std::string_view message) {
  if (!phases_told_.contains(name)) phase(name, message);
}

void Session::send_event(model::RunEvent event) {
  event.at = stamp(event.at);
  const bool first = unsent_.empty();
  dispatch::append_line(unsent_, event, request_.profile);
  if (first && !unsent_.empty()) flush_soon();
}

Timestamp Session::stamp(Timestamp at) {
  told_at_ = std::max(told_at_, at);
  return told_at_;
}

void Session::flush_soon() {
  needs_.loop.defer([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->flush();
  });
}

void Session::flush() {
  if (unsent_.empty()) return;
  spoke_us_ = needs_.loop.monotonic_us();
  account_->add(std::exchange(unsent_, ""));
}

void Session::watch_quiet() {
  const int64_t wait_us = quiet_us_max - (needs_.loop.monotonic_us() - spoke_us_);
  quiet_ = needs_.loop.after({(wait_us + 999) / 1000}, [this] {
    if (needs_.loop.monotonic_us() - spoke_us_ >= quiet_us_max) {
      send_event(model::encode(model::events::Log{.level = "debug", .text = "Still at work"}, now()));
      flush();
    }
    watch_quiet();
  });
}

}  // namespace sluice::station
