#include "engine/sticky_homes.h"

#include <algorithm>

#include "base/check.h"
#include "engine/problems.h"

namespace sluice::engine {
namespace {

constexpr Millis home_patience{3'000};
constexpr Millis renew_again{50};
constexpr Millis read_again{500};

}  // namespace

StickyHomes::StickyHomes(Needs needs) : needs_(needs) {
  needs_.postbox.answer(mail::to_take,
                        [this](const journal::Mail& mail, Postbox::Reply reply) { answer(mail, std::move(reply)); });
}

// ── a run of this node ──────────────────────────────────────────────────────────────────────────

void StickyHomes::find(LiveRun& live, Here here) {
  const auto& record = live.run();
  auto found = [this, here = std::move(here)](LiveRun& still, const Result<store::Page<model::Run>>& page) mutable {
    if (still.run().state == RunState::streaming) on_last_runs(still, page, std::move(here));
  };
  store::runs(needs_.store.database(), record.tenant_id, {.conversation = record.conversation_id}, {.limit = 2},
              live.ref().guard(std::move(found)));
}

void StickyHomes::on_last_runs(LiveRun& live, const Result<store::Page<model::Run>>& page, Here here) {
  if (!page && may_pass(page.error())) {
    return needs_.retries.later(live, read_again, [this, here = std::move(here)](LiveRun& later) mutable {
      if (later.run().state == RunState::streaming) find(later, std::move(here));
    });
  }
  const auto rows = page ? page.value().rows : std::vector<model::Run>();
  const auto before = std::ranges::find_if(rows, [&](const auto& run) { return run.id != live.run().id; });
  const auto fate = before == rows.end() ? Fate::self : needs_.cluster.peers().fate_of(before->node);
  // The conversation continued there: a sandbox that is still here knows nothing of it.
  if (fate != Fate::self) needs_.dispatcher.release(live.run().conversation_id);
  if (fate == Fate::living) return ask(live, before->node, std::move(here));
  here(live);
}

void StickyHomes::ask(LiveRun& live, model::NodeId home, Here here) {
  SLUICE_CHECK(!needs_.cluster.alone());
  const mail::TakeRequest request{live.run().tenant_id, live.run().id, live.run().epoch};
  auto answered = [this, here = std::move(here)](LiveRun& still, const Result<std::string>& answer) mutable {
    if (still.run().state != RunState::streaming) return;
    const bool is_taken = answer && mail::text_in(answer.value(), "taken") == "yes";
    if (is_taken) return needs_.host.lose_to_other(still, Cluster::taken_by_other());
    stay(still, std::move(here));
  };
  needs_.postbox.ask({.to = home, .kind = std::string(mail::to_take), .body = mail::to_json(request)}, home_patience,
                     live.ref().guard(std::move(answered)));
}

void StickyHomes::stay(LiveRun& live, Here here) {
  if (live.run().state != RunState::streaming) return;
  auto kept = std::make_shared<Here>(std::move(here));
  if (live.writer().renew([&live, kept] { (*kept)(live); })) return;
  needs_.retries.later(live, renew_again, [this, kept](LiveRun& later) { stay(later, std::move(*kept)); });
}

// ── a run of another node ───────────────────────────────────────────────────────────────────────

// Only what is still at that epoch: the node that asked may have continued by itself meanwhile.
void StickyHomes::answer(const journal::Mail& mail, Postbox::Reply reply) {
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
