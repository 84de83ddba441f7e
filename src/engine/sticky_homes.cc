#include "engine/sticky_homes.h"

#include <algorithm>

#include "base/check.h"
#include "engine/patience.h"

namespace sluice::engine {
namespace {

constexpr Millis home_patience{3'000};

}  // namespace

StickyHomes::StickyHomes(Needs needs) : needs_(needs) {
  needs_.postbox.answer(
      mail::to_take, [this](const journal::Mail& mail, Postbox::Reply reply) { on_request(mail, std::move(reply)); });
}

// ── a run of this node ──────────────────────────────────────────────────────────────────────────

Task<StickyHomes::Home> StickyHomes::find(LiveRun& live) {
  SLUICE_CHECK(!needs_.cluster.alone());
  const auto& record = live.run();
  const auto page = co_await patiently<store::Page<model::Run>>(needs_.loop, [&](auto done) {
    store::runs(needs_.store.database(), record.tenant_id, {.conversation = record.conversation_id}, {.limit = 2},
                std::move(done));
  });
  const auto rows = page ? page.value().rows : std::vector<model::Run>();
  const auto before = std::ranges::find_if(rows, [&](const auto& run) { return run.id != record.id; });
  const auto fate = before == rows.end() ? Fate::self : needs_.cluster.peers().fate_of(before->node);
  // The conversation continued there: a sandbox that is still here knows nothing of it.
  if (fate != Fate::self) needs_.dispatcher.release(record.conversation_id);
  if (fate != Fate::living) co_return Home::here;

  const mail::TakeRequest request{record.tenant_id, record.id, record.epoch};
  const auto reply = co_await answer<Result<std::string>>([&](auto done) {
    needs_.postbox.ask({.to = before->node, .kind = std::string(mail::to_take), .body = mail::to_json(request)},
                       home_patience, std::move(done));
  });
  if (reply && mail::text_in(reply.value(), "taken") == "yes") co_return Home::elsewhere;
  co_await renew(needs_.loop, live);
  co_return Home::here;
}

// ── a run of another node ───────────────────────────────────────────────────────────────────────

// Only what is still at that epoch: the node that asked may have continued by itself meanwhile.
void StickyHomes::on_request(const journal::Mail& mail, Postbox::Reply reply) {
  const auto request = mail::take_from_json(mail.body);
  if (!request || !needs_.recoveries.may_take()) return reply(mail::object_of("taken", "no"));
  auto found = [this, epoch = request->epoch, reply = std::move(reply)](const Result<model::Run>& run) mutable {
    const bool is_home = run && needs_.admission.has_lease(run.value().conversation_id);
    is_home ? take(run.value(), epoch, std::move(reply)) : reply(mail::object_of("taken", "no"));
  };
  store::run(needs_.store.database(), request->tenant, request->run, lifetime_.guard(std::move(found)));
}

void StickyHomes::take(const model::Run& run, model::Epoch epoch, Postbox::Reply reply) {
  auto taken = [this, watch = needs_.recoveries.since_drop().watch(),
                reply = std::move(reply)](const Result<model::Run>& mine) mutable {
    if (!mine) return reply(mail::object_of("taken", "no"));
    reply(mail::object_of("taken", "yes"));
    needs_.recoveries.carry(mine.value(), watch.is_over());
  };
  SLUICE_CHECK(!needs_.cluster.alone());
  needs_.store.take_over(run.id, epoch, lifetime_.guard(std::move(taken)));
}

}  // namespace sluice::engine
