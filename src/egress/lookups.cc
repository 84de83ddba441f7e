#include "egress/lookups.h"

#include <algorithm>
#include <utility>

#include "world/worker_job.h"

namespace sluice::egress {

Lookups::Lookups(Lookup lookup, world::Loop& loop, world::Workers& workers)
    : lookup_(std::move(lookup)), loop_(loop), workers_(workers) {}
Lookups::~Lookups() = default;

void Lookups::look_up(const Requester& requester, Lifetime::Watch wanted, std::string host, Done done) {
  auto& its = sandbox_of(requester);
  std::erase_if(its.waiting, [](const Waiting& one) { return one.wanted.is_over(); });
  if (its.waiting.size() >= lookups_waiting_max) {
    return loop_.defer([done = std::move(done)]() mutable {
      done(Error{ErrorKind::unavailable, "this sandbox has too many names looked up at once"});
    });
  }
  its.waiting.push_back({std::move(wanted), std::move(host), std::move(done)});
  begin_some();
}

std::deque<Lookups::Tenant>::iterator Lookups::tenant_of(const Requester& requester) {
  const void* const unknown = requester.tenant.empty() ? requester.sandbox : nullptr;
  return std::ranges::find_if(
      tenants_, [&](const Tenant& one) { return one.name == requester.tenant && one.unknown == unknown; });
}

Lookups::Sandbox& Lookups::sandbox_of(const Requester& requester) {
  auto tenant = tenant_of(requester);
  if (tenant == tenants_.end())
    tenant = tenants_.insert(tenants_.end(), Tenant{.name = requester.tenant,
                                                    .unknown = requester.tenant.empty() ? requester.sandbox : nullptr});
  auto& all = tenant->sandboxes;
  const auto its = std::ranges::find(all, requester.sandbox, &Sandbox::who);
  return its != all.end() ? *its : all.emplace_back(Sandbox{.who = requester.sandbox});
}

void Lookups::begin_some() {
  for (std::size_t skipped = 0; skipped < tenants_.size() && at_work_ < lookups_at_once_max;) {
    if (!begin_one(tenants_[skipped])) {
      ++skipped;
      continue;
    }
    // The next turn of this tenant comes after those of all others.
    std::rotate(tenants_.begin() + static_cast<std::ptrdiff_t>(skipped),
                tenants_.begin() + static_cast<std::ptrdiff_t>(skipped) + 1, tenants_.end());
  }
  for (auto& tenant : tenants_) {
    std::erase_if(tenant.sandboxes, [](const Sandbox& one) { return !one.is_at_work && one.waiting.empty(); });
  }
  std::erase_if(tenants_, [](const Tenant& tenant) { return tenant.sandboxes.empty(); });
}

bool Lookups::begin_one(Tenant& tenant) {
  if (tenant.at_work >= lookups_of_tenant_max) return false;
  for (auto its = tenant.sandboxes.begin(); its != tenant.sandboxes.end(); ++its) {
    if (its->is_at_work) continue;
    while (!its->waiting.empty() && its->waiting.front().wanted.is_over()) its->waiting.pop_front();
    if (its->waiting.empty()) continue;
    auto next = std::move(its->waiting.front());
    its->waiting.pop_front();
    its->is_at_work = true;
    ++tenant.at_work;
    const Requester requester{tenant.name, its->who};
    std::rotate(its, its + 1, tenant.sandboxes.end());
    begin(requester, std::move(next));
    return true;
  }
  return false;
}

void Lookups::begin(const Requester& requester, Waiting next) {
  ++at_work_;
  const uint64_t number = ++last_number_;
  auto limit = loop_.after({lookup_ms_max}, [this, number] {
    answer(number, Error{ErrorKind::unavailable, "the name servers do not answer"});
  });
  open_.emplace(number, Open{std::move(next.wanted), std::move(next.done), std::move(limit)});
  world::run_job<Result<std::vector<Address>>>(
      workers_, [lookup = lookup_, host = std::move(next.host)] { return lookup(host); },
      lifetime_.guard([this, requester, number](Result<std::vector<Address>> found) {
        on_returned(requester);
        answer(number, std::move(found));
      }));
}

void Lookups::answer(uint64_t number, Result<std::vector<Address>> found) {
  auto open = open_.extract(number);
  if (open.empty() || open.mapped().wanted.is_over()) return;
  open.mapped().limit.cancel();
  open.mapped().done(std::move(found));
}

void Lookups::on_returned(const Requester& requester) {
  --at_work_;
  const auto tenant = tenant_of(requester);
  --tenant->at_work;
  auto& sandboxes = tenant->sandboxes;
  const auto its = std::ranges::find(sandboxes, requester.sandbox, &Sandbox::who);
  its->is_at_work = false;
  // Those that came while it was at work have their turn first.
  std::rotate(its, its + 1, sandboxes.end());
  std::rotate(tenant, tenant + 1, tenants_.end());
  begin_some();
}

}  // namespace sluice::egress
