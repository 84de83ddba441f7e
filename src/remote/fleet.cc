#include "remote/fleet.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/json.h"
#include "dispatch/envelope.h"

namespace sluice::remote {
namespace {

constexpr Millis check_every{2'000};
constexpr int64_t answer_ms_max = 2'000;

std::string_view name_of(Health health) {
  constexpr std::array<std::string_view, 4> names = {"unknown", "well", "draining", "dead"};
  return names[static_cast<std::size_t>(health)];
}

// Any answer is a sign of life; who says nothing of its slots is asked to carry a run to find out.
RunnerState state_of(const RunnerAnswer& answer) {
  if (answer.status == 0) return {.health = Health::dead};
  const auto document = json::Document::parse(answer.body);
  if (!document || document.value().root().kind() != json::Kind::object) return {};
  const auto root = document.value().root();
  const auto status = root.find("status");
  if (status && status->string() == "draining") return {.health = Health::draining};
  const auto free = root.find("free");
  const auto count = free ? free->integer() : std::nullopt;
  return count ? RunnerState{.health = Health::well, .free = *count} : RunnerState{};
}

}  // namespace

Fleet::Fleet(std::vector<std::string> urls, RunnerRequests& requests, world::Loop& loop, world::Log& log,
             world::Metrics& metrics)
    : requests_(requests),
      loop_(loop),
      log_(log),
      alive_(metrics.gauge("sluice_runners_alive", "Runners elsewhere that answer and take runs.")) {
  for (auto& url : urls) {
    auto& free =
        metrics.gauge("sluice_runner_slots_free", "What a runner elsewhere can still take.", "runner=\"" + url + "\"");
    members_.push_back({.url = std::move(url), .free = free});
  }
  alive_.set(static_cast<int64_t>(members_.size()));
  if (!members_.empty()) next_ = loop_.after(check_every, [this] { check_all(); });
}

std::optional<std::string> Fleet::take(const std::set<std::string>& unsuitable) {
  std::vector<RunnerState> states;
  states.reserve(members_.size());
  for (const auto& member : members_) {
    states.push_back(member.state);
    states.back().unsuitable = unsuitable.contains(member.url);
  }
  const auto chosen = choose_runner(states, turn_++);
  if (!chosen) return std::nullopt;
  auto& member = members_[*chosen];
  if (member.state.health == Health::well) member.free.set(--member.state.free);
  return member.url;
}

void Fleet::give_back(const std::string& url) {
  auto* member = find(url);
  if (member != nullptr && member->state.health == Health::well) member->free.set(++member->state.free);
}

void Fleet::note_dead(const std::string& url, std::string_view why) {
  if (auto* member = find(url)) change(*member, {.health = Health::dead}, why);
}

void Fleet::note_full(const std::string& url) {
  if (auto* member = find(url)) change(*member, {.health = Health::well, .free = 0}, "it is full");
}

bool Fleet::is_unsuitable(const std::set<std::string>& unsuitable) const {
  return std::ranges::all_of(members_, [&](const Member& member) { return unsuitable.contains(member.url); });
}

Fleet::Member* Fleet::find(const std::string& url) {
  const auto found = std::ranges::find(members_, url, &Member::url);
  return found == members_.end() ? nullptr : &*found;
}

void Fleet::check_all() {
  for (auto& member : members_) {
    if (!member.asked) check(member);
  }
  next_ = loop_.after(check_every, [this] { check_all(); });
}

void Fleet::check(Member& member) {
  member.asked = true;
  requests_.send({.url = member.url + std::string(dispatch::health_path),
                  .connect_ms_max = answer_ms_max,
                  .idle_ms_max = answer_ms_max,
                  .total_ms_max = answer_ms_max},
                 [this, &member](const RunnerAnswer& answer) { take_line(member, answer); });
}

void Fleet::take_line(Member& member, const RunnerAnswer& answer) {
  member.asked = false;
  change(member, state_of(answer), answer.why);
}

void Fleet::change(Member& member, RunnerState state, std::string_view why) {
  const auto before = std::exchange(member.state, state).health;
  member.free.set(state.health == Health::well ? state.free : 0);
  if (before == state.health) return;
  alive_.set(std::ranges::count_if(members_, [](const Member& its) {
    return its.state.health == Health::well || its.state.health == Health::unknown;
  }));
  const auto level = state.health == Health::dead ? world::LogLevel::warn : world::LogLevel::info;
  log_.write(level, "runner's health", {{"runner", member.url}, {"health", name_of(state.health)}, {"why", why}});
}

}  // namespace sluice::remote
