#include "egress/lookups.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace sluice::egress {

Lookups::Lookups(Lookup lookup, world::Loop& loop, world::Workers& workers)
    : lookup_(std::move(lookup)), loop_(loop), workers_(workers) {}
Lookups::~Lookups() = default;

void Lookups::look_up(const void* asker, std::weak_ptr<const void> wanted, std::string host, Done done) {
  auto its = std::ranges::find(askers_, asker, &Asker::who);
  if (its == askers_.end()) its = askers_.insert(askers_.end(), Asker{.who = asker});
  std::erase_if(its->waiting, [](const Waiting& one) { return one.wanted.expired(); });
  if (its->waiting.size() >= lookups_waiting_max) {
    return loop_.defer([done = std::move(done)]() mutable {
      done(Error{ErrorKind::unavailable, "this sandbox has too many names looked up at once"});
    });
  }
  its->waiting.push_back({std::move(wanted), std::move(host), std::move(done)});
  begin_some();
}

void Lookups::begin_some() {
  for (auto& asker : askers_) {
    if (at_work_ == lookups_at_once_max) break;
    if (!asker.is_at_work) begin(asker);
  }
  std::erase_if(askers_, [](const Asker& asker) { return !asker.is_at_work && asker.waiting.empty(); });
}

void Lookups::begin(Asker& asker) {
  while (!asker.waiting.empty() && asker.waiting.front().wanted.expired()) asker.waiting.pop_front();
  if (asker.waiting.empty()) return;
  auto next = std::move(asker.waiting.front());
  asker.waiting.pop_front();
  asker.is_at_work = true;
  ++at_work_;
  // Shared by the two ends of the work, of which the second alone is sure to run after the first.
  auto found = std::make_shared<std::optional<Result<std::vector<Address>>>>();
  workers_.run([found, lookup = lookup_, host = std::move(next.host)] { found->emplace(lookup(host)); },
               [this, here = std::weak_ptr(here_), found, who = asker.who, wanted = std::move(next.wanted),
                done = std::move(next.done)]() mutable {
                 if (here.expired()) return;
                 on_found(who);
                 if (!wanted.expired()) done(std::move(**found));
               });
}

// The next turn of this one comes after those of all others.
void Lookups::on_found(const void* who) {
  --at_work_;
  const auto its = std::ranges::find(askers_, who, &Asker::who);
  its->is_at_work = false;
  std::rotate(its, its + 1, askers_.end());
  begin_some();
}

}  // namespace sluice::egress
