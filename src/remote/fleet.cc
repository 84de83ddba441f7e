#include "remote/fleet.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/json.h"
#include "dispatch/envelope.h"

namespace sluice::remote {
namespace {

constexpr std::size_t body_bytes_max = 4096;

}  // namespace

class RunnerRequests::Request final : private net::CallListener {
 public:
  Request(RunnerRequests& requests, uint64_t number, net::ClientRequest request, Callback<void(RunnerAnswer)> done)
      : requests_(requests),
        number_(number),
        done_(std::move(done)),
        call_(requests.client_.call(std::move(request), *this)) {}

 private:
  void on_head(int status, const net::Headers&) override { answer_.status = status; }
  void on_body(std::string_view bytes) override {
    answer_.body += bytes.substr(0, body_bytes_max - std::min(body_bytes_max, answer_.body.size()));
  }
  void on_end(net::CallEnd end) override {
    if (end.failure) answer_ = {.why = std::move(end.what)};
    auto done = std::move(done_);
    auto answer = std::move(answer_);
    requests_.end(number_);
    if (done) done(std::move(answer));
  }

  RunnerRequests& requests_;
  const uint64_t number_;
  Callback<void(RunnerAnswer)> done_;
  RunnerAnswer answer_;
  std::unique_ptr<net::Call> call_;
};

RunnerRequests::RunnerRequests(net::Client& client, world::Loop& loop) : client_(client), loop_(loop) {}
RunnerRequests::~RunnerRequests() = default;

void RunnerRequests::send(net::ClientRequest request, Callback<void(RunnerAnswer)> done) {
  const auto number = next_++;
  requests_.emplace(number, std::make_unique<Request>(*this, number, std::move(request), std::move(done)));
}

void RunnerRequests::end(uint64_t number) {
  const auto found = requests_.find(number);
  // It is still on the stack.
  loop_.defer([ended = std::move(found->second)] {});
  requests_.erase(found);
}

namespace {

// How much speaks for it; 0: it cannot take the run.
int64_t weight_of(const RunnerState& runner) {
  constexpr int64_t some = 1;
  if (runner.unsuitable) return 0;
  if (runner.health == Health::unknown) return some;
  return runner.health == Health::well && runner.free > 0 ? some + runner.free : 0;
}

}  // namespace

std::optional<std::size_t> choose_runner(std::span<const RunnerState> runners, std::size_t turn) {
  std::optional<std::size_t> best;
  int64_t best_weight = 0;
  for (std::size_t i = 0; i < runners.size(); ++i) {
    const auto place = (turn + i) % runners.size();
    const auto weight = weight_of(runners[place]);
    if (weight <= best_weight) continue;
    best = place;
    best_weight = weight;
  }
  return best;
}

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
