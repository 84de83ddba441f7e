#include "egress/premises.h"

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
constexpr int mail_port = 25;  // any other port is the policy's business; nobody wants to be a source of spam

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
         ". Do not look for a way around it; if the task needs this host, say so to whoever gave you the task.";
}

}  // namespace

Premises::Premises(std::shared_ptr<House> house)
    : house_(std::move(house)), pool_(house_->reactor), passages_(house_->options.single_passages_max) {}

void Premises::hold(bool held) {
  if (std::exchange(held_, held) == held) return;
  const int64_t us = house_->reactor.monotonic_us();
  held ? held_from_us_ = us : held_us_ += us - held_from_us_;
}

void Premises::welcome(Guest guest, OutletListener& listener) {
  see_off();
  guest_ = std::move(guest);
  if (const auto& workspace = guest_->workspace) {
    auto door = forwarding_to(workspace->base_url, workspace->token);
    if (door) {
      workspace_door_ = std::move(door).take();
    } else {
      house_->log.write(world::LogLevel::warn, "no way to the workspace", {{"why", door.error().what}});
    }
  }
  ear_ = std::make_shared<Ear>(&listener);
  sent_for_good_ = 0;
}

void Premises::see_off() {
  static_cast<void>(take_sums());  // nobody hears of them any more, but the log does
  passages_ = PassageReport(house_->options.single_passages_max);
  refusals_until_us_ = 0;
  guest_.reset();
  workspace_door_.reset();
  scrubs_bearer_ = false;
  ear_.reset();
  pool_.clear();
  let_through_.clear();
  questions_.clear();
}

Premises::Ruling Premises::rule_on(const Destination& to) const {
  if (!guest_) return {model::Effect::deny, "nothing runs in this sandbox now, so nothing may leave it"};
  if (to.host == workspace_host) return rule_on_workspace(to);
  if (to.port == mail_port) return {model::Effect::deny, words_of_denial(to.host, "port 25 is closed to sandboxes")};
  const gates::Ruling ruling = gates::rule_on_host(guest_->policy, to.host);
  if (ruling.effect != model::Effect::deny && to.is_address && !names_exactly(guest_->policy, to.host)) {
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

std::string Premises::refusal_of_port(const Destination& to, bool by_tunnel) const {
  if (!guest_ || gates::may_reach_port(guest_->policy, to.host, to.port)) return {};
  if (by_tunnel && takes_secrets(to)) return {};
  return words_of_denial(to.host, "no rule of the agent's policy names port " + std::to_string(to.port) +
                                      " of it (`ports`), and without that " +
                                      (by_tunnel ? "a tunnel leads" : "plain requests lead") + " to 443 and 80 only");
}

// It is no host of the world: rules with wildcards do not speak of it, and one that names it can only take it away, or
// have a human asked.
Premises::Ruling Premises::rule_on_workspace(const Destination& to) const {
  if (!workspace_door_) {
    return {model::Effect::deny,
            words_of_denial(to.host, "the agent may not use its workspace's API (its `workspace` is none)")};
  }
  const gates::Ruling ruling = gates::rule_on_host(rules_that_name(guest_->policy, to.host), to.host);
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

const Forwarding& Premises::workspace_door() {
  SLUICE_CHECK(workspace_door_);
  if (!std::exchange(scrubs_bearer_, true)) {
    if (!guest_->secrets) guest_->secrets = std::make_shared<vault::Secrets>();
    guest_->secrets->pin({.alias = std::string(bearer_alias),
                          .value = guest_->workspace->token,
                          .hosts = {std::string(workspace_host)}});
  }
  return *workspace_door_;
}

bool Premises::takes_secrets(const Destination& to) const {
  if (!guest_ || to.host == workspace_host) return false;
  if (gates::host_takes_secrets(guest_->policy, to.host)) return true;
  if (!guest_->secrets) return false;
  const auto aliases = guest_->secrets->aliases();
  return std::any_of(aliases.begin(), aliases.end(), [&](const std::string& alias) {
    const vault::Secret* const secret = guest_->secrets->find(alias);
    return secret != nullptr && gates::secret_may_go(guest_->policy, alias, secret->hosts, to.host);
  });
}

Verdict Premises::judge(std::string_view alias, model::SecretPlace place, const Destination& to) const {
  const std::string name(alias);
  const auto refused = [](std::string words) { return Verdict{Verdict::Kind::refused, {}, std::move(words)}; };
  if (!guest_) return refused("nothing runs in this sandbox now");
  if (const auto& model = guest_->model_host; model && model->host == to.host) {
    if (alias != model->key_alias || place == model::place_body || place == model::place_query) {
      return {Verdict::Kind::text, {}, {}};
    }
  }
  // Nothing of the workspace's is sent on from here: what names an alias there, such as a workflow, may be kept.
  if (to.host == workspace_host) return {Verdict::Kind::text, {}, {}};
  if (!to.tls && !house_->options.plaintext_secrets) {
    return refused("the secret " + name + " may not be sent over http://, where others could read it; use https://");
  }
  const vault::Secret* const secret = guest_->secrets ? guest_->secrets->find(alias) : nullptr;
  if (secret == nullptr) return {Verdict::Kind::missing, {}, {}};
  if (!gates::secret_may_go(guest_->policy, alias, secret->hosts, to.host)) {
    return refused("the secret " + name + " may not be sent to " + to.host);
  }
  if ((secret->places & place) == 0) {
    return refused("the secret " + name + " may not stand in this part of a request (" +
                   std::string(model::names_of_places(place).front()) + ")");
  }
  return {Verdict::Kind::go, secret->value, {}};
}

std::shared_ptr<const vault::Scrubber> Premises::scrubber() const {
  if (!guest_ || !guest_->secrets) return nullptr;
  auto scrubber = guest_->secrets->scrubber();
  return scrubber->is_idle() ? nullptr : scrubber;
}

std::string Premises::ask(Question question, Waiter& waiter) {
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
  house_->reactor.defer([ear = std::weak_ptr(ear_), question = std::move(question)]() mutable {
    if (const auto heard_by = ear.lock()) heard_by->listener->on_question(std::move(question));
  });
  return {};
}

void Premises::forget(const Waiter& waiter) {
  for (auto& [number, asked] : questions_) std::erase(asked.waiters, &waiter);
}

void Premises::settle(uint64_t number, bool go_on, std::string_view words) {
  const auto at = questions_.find(number);
  if (at == questions_.end()) return;
  const Asked asked = std::move(at->second);
  questions_.erase(at);
  if (go_on && asked.alias.empty()) let_through_.insert(asked.host);
  for (Waiter* const waiter : asked.waiters) waiter->on_settled(go_on, words);
}

std::vector<Passage> Premises::take_untold() {
  if (!ear_) return {};
  auto passages = std::exchange(ear_->passages, {});
  for (auto& sum : take_sums()) passages.push_back(std::move(sum));
  return {passages.begin(), passages.end()};
}

void Premises::tell(Passage passage) {
  if (count(passage)) return report(std::move(passage));
  if (ear_ && !std::exchange(sums_are_due_, true)) {
    sum_timer_ = house_->reactor.after({house_->options.sum_ms}, [this] { report_sums(); });
  }
}

void Premises::report(Passage passage) {
  if (!ear_) return;
  ear_->passages.push_back(std::move(passage));
  house_->reactor.defer([ear = std::weak_ptr(ear_)] {
    const auto heard_by = ear.lock();
    if (!heard_by || heard_by->passages.empty()) return;
    Passage next = std::move(heard_by->passages.front());
    heard_by->passages.pop_front();
    heard_by->listener->on_passage(std::move(next));
  });
}

void Premises::report_sums() {
  for (auto& sum : take_sums()) report(std::move(sum));
}

std::vector<Passage> Premises::take_sums() {
  sum_timer_.cancel();
  sums_are_due_ = false;
  auto sums = passages_.take_sums();
  for (const auto& sum : sums) {
    house_->log.write(world::LogLevel::info, "egress summed up",
                      {{"run", guest_ ? guest_->run.text() : ""},
                       {"host", sum.host},
                       {"requests", sum.more},
                       {"refused", sum.more_refused}});
  }
  return sums;
}

bool Premises::count(const Passage& passage) {
  house_->figures.sent_bytes.add(static_cast<uint64_t>(passage.sent_bytes));
  house_->figures.received_bytes.add(static_cast<uint64_t>(passage.received_bytes));
  auto& figures = house_->figures;
  const bool failed = passage.status >= 502 && passage.received_bytes == 0;
  (!passage.refused.empty() ? figures.refused
   : passage.status == 0    ? figures.left
   : failed                 ? figures.failed
                            : figures.passed)
      .add();
  const bool is_single = passages_.is_single(passage);
  // A request that could not be answered costs the server no less than one that was refused.
  if (failed || !passage.refused.empty()) note_refusal();
  if (passage.refused.empty()) return is_single;
  auto& lines = house_->refusal_lines;
  if (is_single && lines.take(asker().tenant, house_->reactor.monotonic_us())) {
    house_->log.write(world::LogLevel::info, "egress refused",
                      {{"host", passage.host}, {"method", passage.method}, {"why", passage.refused}});
    if (const auto left_out = lines.take_left_out(); left_out > 0) {
      house_->log.write(world::LogLevel::info, "egress refusals not logged", {{"count", left_out}});
    }
  }
  return is_single;
}

// A bucket that leaks `refusals_per_second`: until it is full nothing waits.
void Premises::note_refusal() {
  const int64_t now_us = house_->reactor.monotonic_us();
  const int64_t each_us = us_per_second / house_->options.refusals_per_second;
  const int64_t until_us_max = now_us + each_us * house_->options.refusals_at_once + pause_ms_max * 1'000;
  refusals_until_us_ = std::min(std::max(refusals_until_us_, now_us) + each_us, until_us_max);
}

int64_t Premises::pause_ms() const {
  const int64_t each_us = us_per_second / house_->options.refusals_per_second;
  const int64_t full_us = refusals_until_us_ - each_us * house_->options.refusals_at_once;
  return std::max<int64_t>(held_ ? held_look_ms : 0, (full_us - house_->reactor.monotonic_us() + 999) / 1'000);
}

}  // namespace sluice::egress
