#include "engine/run_secrets.h"

#include "base/check.h"
#include "engine/log_events.h"

namespace sluice::engine {

RunSecrets::RunSecrets(Needs needs) : needs_(needs), scrubbers_(needs.loop, needs.workers) {}

void RunSecrets::read(const LiveRun& live, store::Done<std::vector<model::SealedSecret>> done) {
  const auto& run = live.run();
  store::secrets_in_reach(needs_.store.database(), {run.tenant_id, run.conversation_id, run.agent_id}, std::move(done));
}

void RunSecrets::open(LiveRun& live, const std::vector<model::SealedSecret>& sealed, bool stands_still,
                      Callback<void(LiveRun&)> then) {
  SLUICE_CHECK(live.work().secrets() != nullptr);
  std::vector<std::string> unreadable;
  auto opened = vault::open_all(needs_.sealer, sealed, unreadable);
  if (!unreadable.empty()) {
    live.progress().report(warning(
        needs_.loop.now(), "Secrets that the server's keys do not open are left out: " + list_of(unreadable) + "."));
  }
  auto is_wanted = [ref = live.ref()] { return ref.get() != nullptr; };
  scrubbers_.replace({live.run().tenant_id, std::move(is_wanted), stands_still}, live.work().secrets(),
                     std::move(opened),
                     live.ref().guard([then = std::move(then)](LiveRun& still) mutable { then(still); }));
}

void RunSecrets::refresh(LiveRun& live, Callback<void()> then) {
  auto give = [this, then = std::move(then)](LiveRun& still,
                                             const Result<std::vector<model::SealedSecret>>& sealed) mutable {
    if (!sealed) {
      needs_.log.write(world::LogLevel::error, "secrets cannot be read",
                       {{"run", still.run().id.text()}, {"why", sealed.error().what}});
    }
    if (!still.work().secrets() || !sealed) return then ? then() : void();
    const bool stands_still = static_cast<bool>(then);
    open(still, sealed.value(), stands_still, [then = std::move(then)](LiveRun&) mutable {
      if (then) then();
    });
  };
  read(live, live.ref().guard(std::move(give)));
}

void RunSecrets::refresh_all(model::TenantId tenant) {
  for (const auto& [id, live] : needs_.live.all()) {
    if (live->run().tenant_id == tenant && live->work().secrets()) refresh(*live, nullptr);
  }
}

}  // namespace sluice::engine
