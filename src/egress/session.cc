#include "egress/session.h"

#include <algorithm>
#include <utility>

#include "gates/gates.h"

namespace sluice::egress {
namespace {

constexpr int64_t held_look_ms = 100;

constexpr int http_port = 80;
constexpr std::string_view bearer_alias = "SLUICE_WORKSPACE";
constexpr int64_t us_per_second = 1'000'000;
constexpr int64_t pause_ms_max = 10'000;  // however many connections are refused at once
constexpr int mail_port = 25;             // closed whatever the policy says, so that no sandbox can send spam

bool names_exactly(const model::Policy& policy, const std::string& host) {
  return std::any_of(policy.begin(), policy.end(), [&](const model::PolicyRule& rule) {
    return rule.subject == model::Subject::host && rule.effect != model::Effect::deny && rule.pattern == host;
  });
}

model::Policy rules_that_name(const model::Policy& policy, std::string_view host) {
  model::Policy rules;
  for (const auto& rule : policy) {
    if (rule.subject == model::Subject::host && gates::normal_host(rule.pattern) == host) rules.push_back(rule);
  }
  return rules;
}

std::string words_of_denial(const std::string& host, const std::string& why) {
  return "this sandbox may not reach " + host + ": " + why +
         ". Do not look for a way around it; if the task needs this host, say so to the person who gave you the task.";
}

}  // namespace

Session::Session(std::shared_ptr<SharedState> shared)
    : shared_(std::move(shared)), pool_(shared_->reactor), report_(shared_->options.single_records_max) {}

void Session::hold(bool held) {
  if (std::exchange(held_, held) == held) return;
  const int64_t us = shared_->reactor.monotonic_us();
  held ? held_from_us_ = us : held_us_ += us - held_from_us_;
}

void Session::begin(RunAccess access, SandboxProxyListener& listener) {
  end();
  access_ = std::move(access);
  if (const auto& workspace = access_->workspace) {
    auto door = forwarding_to(workspace->base_url, workspace->token);
    if (door) {
      workspace_api_ = std::move(door).take();
    } else {
      shared_->log.write(world::LogLevel::warn, "workspace API not reachable", {{"why", door.error().what}});
    }
  }
  listener_ = &listener;
  sent_for_good_ = 0;
}

void Session::end() {
  static_cast<void>(take_sums());  // they go to the log only
  report_ = RequestReport(shared_->options.single_records_max);
  refusals_until_us_ = 0;
  access_.reset();
  workspace_api_.reset();
  scrubs_bearer_ = false;
  listener_ = nullptr;
  unreported_.clear();
  run_lifetime_.begin_anew();
  pool_.clear();
  let_through_.clear();
  questions_.clear();
}

Session::Ruling Session::rule_on(const Destination& to) const {
  if (!access_) return {model::Effect::deny, "nothing runs in this sandbox now, so nothing may leave it"};
  if (to.host == workspace_host) return rule_on_workspace(to);
  if (to.port == mail_port) return {model::Effect::deny, words_of_denial(to.host, "port 25 is closed to sandboxes")};
  const gates::Ruling ruling = gates::rule_on_host(access_->policy, to.host);
  if (ruling.effect != model::Effect::deny && to.is_address && !names_exactly(access_->policy, to.host)) {
    return {model::Effect::deny,
            words_of_denial(to.host, "it is an address, and only hosts with names may be reached")};
  }
  switch (ruling.effect) {
    case model::Effect::allow: return {model::Effect::allow, {}};
    case model::Effect::ask:
      if (let_through_.contains(to.host)) return {model::Effect::allow, {}};
      return {model::Effect::ask, ruling.reason};
    case model::Effect::deny: break;
  }
  const std::string why = ruling.pattern.empty()  ? "no rule of the agent's policy allows it"
                          : ruling.reason.empty() ? "the agent's policy forbids it"
                                                  : ruling.reason;
  return {model::Effect::deny, words_of_denial(to.host, why)};
}

std::string Session::refusal_of_port(const Destination& to, bool by_tunnel) const {
  if (!access_ || gates::may_reach_port(access_->policy, to.host, to.port)) return {};
  if (by_tunnel && takes_secrets(to)) return {};
  return words_of_denial(to.host, "no rule of the agent's policy names port " + std::to_string(to.port) +
                                      " of it (`ports`), and without that " +
                                      (by_tunnel ? "a tunnel leads" : "plain requests lead") + " to 443 and 80 only");
}

// The workspace is not a host of the network: rules with wildcards do not apply to it, and a rule that names it can
// only deny it or ask a human.
Session::Ruling Session::rule_on_workspace(const Destination& to) const {
  if (!workspace_api_) {
    return {model::Effect::deny,
            words_of_denial(to.host, "the agent may not use its workspace's API (its `workspace` is none)")};
  }
  const gates::Ruling ruling = gates::rule_on_host(rules_that_name(access_->policy, to.host), to.host);
  const bool is_named = !ruling.pattern.empty();
  if (is_named && ruling.effect == model::Effect::deny) {
    return {model::Effect::deny,
            words_of_denial(to.host, ruling.reason.empty() ? "the agent's policy forbids it" : ruling.reason)};
  }
  if (to.tls || to.port != http_port) {
    return {model::Effect::deny, "the workspace is reached by plain requests to http://" + to.host + "/, on port 80"};
  }
  const bool asks = is_named && ruling.effect == model::Effect::ask && !let_through_.contains(to.host);
  return asks ? Ruling{model::Effect::ask, ruling.reason} : Ruling{model::Effect::allow, {}};
}

const Forwarding& Session::workspace_api() {
  SLUICE_CHECK(workspace_api_);
  if (!std::exchange(scrubs_bearer_, true)) {
    if (!access_->secrets) access_->secrets = std::make_shared<vault::Secrets>();
    access_->secrets->pin({.alias = std::string(bearer_alias),
                           .value = access_->workspace->token,
                           .hosts = {std::string(workspace_host)}});
  }
  return *workspace_api_;
}

bool Session::takes_secrets(const Destination& to) const {
  if (!access_ || to.host == workspace_host) return false;
  if (gates::host_takes_secrets(access_->policy, to.host)) return true;
  if (!access_->secrets) return false;
  const auto aliases = access_->secrets->aliases();
  return std::any_of(aliases.begin(), aliases.end(), [&](const std::string& alias) {
    const vault::Secret* const secret = access_->secrets->find(alias);
    return secret != nullptr && gates::secret_may_go(access_->policy, alias, secret->hosts, to.host);
  });
}

Verdict Session::judge(std::string_view alias, model::SecretPlace place, const Destination& to) const {
  const std::string name(alias);
  const auto refused = [](std::string words) { return Verdict{Verdict::Kind::refused, {}, std::move(words)}; };
  if (!access_) return refused("nothing runs in this sandbox now");
  if (const auto& model = access_->model_host; model && model->host == to.host) {
    if (alias != model->key_alias || place == model::place_body || place == model::place_query) {
      return {Verdict::Kind::text, {}, {}};
    }
  }
  // The workspace sends nothing to other hosts; text that mentions an alias, such as a workflow, may be stored there.
  if (to.host == workspace_host) return {Verdict::Kind::text, {}, {}};
  if (!to.tls && !shared_->options.plaintext_secrets) {
    return refused("the secret " + name + " may not be sent over http://, where others could read it; use https://");
  }
  const vault::Secret* const secret = access_->secrets ? access_->secrets->find(alias) : nullptr;
  if (secret == nullptr) return {Verdict::Kind::missing, {}, {}};
  if (!gates::secret_may_go(access_->policy, alias, secret->hosts, to.host)) {
    return refused("the secret " + name + " may not be sent to " + to.host);
  }
  if ((secret->places & place) == 0) {
    return refused("the secret " + name + " may not stand in this part of a request (" +
                   std::string(model::names_of_places(place).front()) + ")");
  }
  return {Verdict::Kind::go, secret->value, {}};
}

std::shared_ptr<const vault::Scrubber> Session::scrubber() const {
  if (!access_ || !access_->secrets) return nullptr;
  auto scrubber = access_->secrets->scrubber();
  return scrubber->is_idle() ? nullptr : scrubber;
}

std::string Session::ask(Question question, Waiter& waiter) {
  for (auto& [number, asked] : questions_) {
    if (asked.host != question.host || asked.alias != question.alias) continue;
    asked.waiters.push_back(&waiter);
    return {};
  }
  if (questions_.size() >= questions_max) {
    return "this request to " + question.host + " would have to wait for a human, as " + std::to_string(questions_max) +
           " other questions of this run do already";
  }
  question.number = ++last_number_;
  questions_[question.number] = {question.host, question.alias, {&waiter}};
  shared_->reactor.defer(run_lifetime_.guard(
      [this, question = std::move(question)]() mutable { listener_->on_question(std::move(question)); }));
  return {};
}

void Session::forget(const Waiter& waiter) {
  for (auto& [number, asked] : questions_) std::erase(asked.waiters, &waiter);
}

void Session::settle(uint64_t number, bool go_on, std::string_view words) {
  const auto at = questions_.find(number);
  if (at == questions_.end()) return;
  const OpenQuestion question = std::move(at->second);
  questions_.erase(at);
  if (go_on && question.alias.empty()) let_through_.insert(question.host);
  for (Waiter* const waiter : question.waiters) waiter->on_settled(go_on, words);
}

std::vector<RequestRecord> Session::take_unreported() {
  if (listener_ == nullptr) return {};
  auto records = std::exchange(unreported_, {});
  for (auto& sum : take_sums()) records.push_back(std::move(sum));
  return {records.begin(), records.end()};
}

void Session::report(RequestRecord record) {
  if (count(record)) return deliver(std::move(record));
  if (listener_ != nullptr && !std::exchange(sums_are_due_, true)) {
    sum_timer_ = shared_->reactor.after({shared_->options.sum_ms}, [this] { deliver_sums(); });
  }
}

void Session::deliver(RequestRecord record) {
  if (listener_ == nullptr) return;
  unreported_.push_back(std::move(record));
  shared_->reactor.defer(run_lifetime_.guard([this] {
    if (unreported_.empty()) return;
    RequestRecord next = std::move(unreported_.front());
    unreported_.pop_front();
    listener_->on_request(std::move(next));
  }));
}

void Session::deliver_sums() {
  for (auto& sum : take_sums()) deliver(std::move(sum));
}

std::vector<RequestRecord> Session::take_sums() {
  sum_timer_.cancel();
  sums_are_due_ = false;
  auto sums = report_.take_sums();
  for (const auto& sum : sums) {
    shared_->log.write(world::LogLevel::info, "egress summed up",
                       {{"run", access_ ? access_->run.text() : ""},
                        {"host", sum.host},
                        {"requests", sum.more},
                        {"refused", sum.more_refused}});
  }
  return sums;
}

bool Session::count(const RequestRecord& record) {
  shared_->metrics.sent_bytes.add(static_cast<uint64_t>(record.sent_bytes));
  shared_->metrics.received_bytes.add(static_cast<uint64_t>(record.received_bytes));
  auto& metrics = shared_->metrics;
  const bool failed = record.status >= 502 && record.received_bytes == 0;
  (!record.refused.empty() ? metrics.refused
   : record.status == 0    ? metrics.left
   : failed                ? metrics.failed
                           : metrics.passed)
      .add();
  const bool is_single = report_.is_single(record);
  // A request that could not be answered costs the server no less than one that was refused.
  if (failed || !record.refused.empty()) note_refusal();
  if (record.refused.empty()) return is_single;
  auto& lines = shared_->refusal_lines;
  if (is_single && lines.take(requester().tenant, shared_->reactor.monotonic_us())) {
    shared_->log.write(world::LogLevel::info, "egress refused",
                       {{"host", record.host}, {"method", record.method}, {"why", record.refused}});
    if (const auto left_out = lines.take_left_out(); left_out > 0) {
      shared_->log.write(world::LogLevel::info, "egress refusals not logged", {{"count", left_out}});
    }
  }
  return is_single;
}

// A bucket that leaks `refusals_per_second`: until it is full nothing waits.
void Session::note_refusal() {
  const int64_t now_us = shared_->reactor.monotonic_us();
  const int64_t each_us = us_per_second / shared_->options.refusals_per_second;
  const int64_t until_us_max = now_us + each_us * shared_->options.refusals_at_once + pause_ms_max * 1'000;
  refusals_until_us_ = std::min(std::max(refusals_until_us_, now_us) + each_us, until_us_max);
}

int64_t Session::pause_ms() const {
  const int64_t each_us = us_per_second / shared_->options.refusals_per_second;
  const int64_t full_us = refusals_until_us_ - each_us * shared_->options.refusals_at_once;
  return std::max<int64_t>(held_ ? held_look_ms : 0, (full_us - shared_->reactor.monotonic_us() + 999) / 1'000);
}

// ── the pool ──

std::unique_ptr<Stream> Pool::take(const Destination& to) {
  // The connection that was used last is the likeliest to be still open.
  const auto at = std::find_if(idle_.rbegin(), idle_.rend(), [&](const Idle& idle) { return idle.to == to; });
  if (at == idle_.rend()) return nullptr;
  auto stream = std::move(at->stream);
  idle_.erase(std::next(at).base());
  return stream;
}

void Pool::put(const Destination& to, std::unique_ptr<Stream> stream) {
  if (stream->state() != Stream::State::open || stream->ended() || !stream->input().empty()) return;
  if (idle_.size() == count_max) idle_.pop_front();
  const uint64_t number = ++last_number_;
  // Bytes that arrive now answer no request: the end of the connection, or an attempt to poison the next response.
  stream->on_change([this, number, it = stream.get()] {
    if (it->state() != Stream::State::open || it->ended() || !it->input().empty()) drop(number);
  });
  stream->rest();
  static_cast<void>(stream->settle());  // it has nothing to send, and is to be watched
  idle_.push_back({number, to, std::move(stream), reactor_.after({idle_ms_max}, [this, number] { drop(number); })});
}

void Pool::drop(uint64_t number) {
  std::erase_if(idle_, [&](const Idle& idle) { return idle.number == number; });
}

}  // namespace sluice::egress
