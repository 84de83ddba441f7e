#include "engine/run_requests.h"

#include "base/check.h"
#include "engine/gate_records.h"
#include "engine/mail_words.h"
#include "engine/problems.h"

namespace sluice::engine {
namespace {

constexpr Millis patience{10'000};

model::Problem no_answer(const Error& why, std::string_view done) {
  return unavailable("The server that carries the run did not answer (" + why.what + "); it is not known whether it " +
                     std::string(done) + ".");
}

model::Problem ended_as(const model::Run& run) {
  return problem_of(model::Slug::run_finished, "The run ended as " + std::string(model::name_of(run.state)) + ".");
}

void answer_ended(RunRequests::Cancelled& done, const model::Run& ended) {
  SLUICE_CHECK(is_over(ended.state));
  if (ended.state == RunState::cancelled) return done(ended);
  done(ended_as(ended));
}

void reply_ended(Postbox::Reply& reply, const model::Run& ended) {
  SLUICE_CHECK(is_over(ended.state));
  if (ended.state != RunState::cancelled) return reply(mail::problem_answer(ended_as(ended)));
  reply(mail::object_of("run", ended.id.text()));
}

}  // namespace

RunRequests::RunRequests(Needs needs) : needs_(needs) {
  needs_.postbox.answer(mail::to_cancel, [this](const journal::Mail& mail, Postbox::Reply reply) {
    answer_cancel(mail, std::move(reply));
  });
  needs_.postbox.answer(mail::to_decide, [this](const journal::Mail& mail, Postbox::Reply reply) {
    answer_decision(mail, std::move(reply));
  });
}

// ── cancels ─────────────────────────────────────────────────────────────────────────────────────

void RunRequests::cancel(model::TenantId tenant, model::RunId run, Cancelled done) {
  // A run that is carried here is known without the store, which may be what does not answer.
  if (const auto* live = needs_.live.find(run); live != nullptr && live->run().tenant_id == tenant) {
    return cancel_found(live->run(), std::move(done), 1);
  }
  store::run(needs_.store.database(), tenant, run,
             lifetime_.guard([this, done = std::move(done)](Result<model::Run> found) mutable {
               if (!found) return done(problem_of_store(found.error()));
               cancel_found(std::move(found).take(), std::move(done), 1);
             }));
}

void RunRequests::cancel_found(model::Run run, Cancelled done, int looks_left) {
  SLUICE_CHECK(looks_left >= 0);
  if (auto* live = needs_.live.find(run.id)) return cancel_live(*live, run.tenant_id, std::move(done));
  if (is_over(run.state)) return answer_ended(done, run);
  // It may have ended between the look at the disk and the look here.
  if (looks_left == 0 && !needs_.is_alone) return cancel_elsewhere(run, std::move(done));
  if (looks_left == 0) return done(unavailable("The run is not being carried on by this server right now."));
  store::run(needs_.store.database(), run.tenant_id, run.id,
             lifetime_.guard([this, looks_left, done = std::move(done)](Result<model::Run> found) mutable {
               if (!found) return done(problem_of_store(found.error()));
               cancel_found(std::move(found).take(), std::move(done), looks_left - 1);
             }));
}

void RunRequests::cancel_live(LiveRun& live, model::TenantId tenant, Cancelled done) {
  live.cancel(lifetime_.guard(
      [this, tenant, id = live.run().id, done = std::move(done)](const Result<model::Run>& ended) mutable {
        if (ended) return answer_ended(done, ended.value());
        const auto kind = ended.error().kind;
        if (kind == ErrorKind::overloaded) return done(unavailable(ended.error().what));
        if (kind == ErrorKind::conflict && !needs_.is_alone) return cancel(tenant, id, std::move(done));
        done(problem_of_store(ended.error()));
      }));
}

void RunRequests::cancel_elsewhere(const model::Run& run, Cancelled done) {
  SLUICE_CHECK(!needs_.is_alone && !is_over(run.state));
  auto answered = [this, run, done = std::move(done)](const Result<std::string>& answer) mutable {
    if (!answer) return done(no_answer(answer.error(), "was cancelled"));
    if (auto problem = mail::problem_in(answer.value())) return done(*std::move(problem));
    store::run(needs_.store.database(), run.tenant_id, run.id,
               [done = std::move(done)](Result<model::Run> ended) mutable {
                 if (!ended) return done(problem_of_store(ended.error()));
                 done(std::move(ended).take());
               });
  };
  needs_.postbox.ask(
      {.run = run.id, .kind = std::string(mail::to_cancel), .body = mail::object_of("tenant", run.tenant_id.text())},
      patience, lifetime_.guard(std::move(answered)));
}

void RunRequests::answer_cancel(const journal::Mail& mail, Postbox::Reply reply) {
  const auto tenant = model::TenantId::parse(mail::text_in(mail.body, "tenant"));
  if (!tenant || !mail.run) return reply(mail::problem_answer({.detail = "The request could not be parsed."}));
  if (auto* live = needs_.live.find(*mail.run)) {
    return live->cancel([reply = std::move(reply)](const Result<model::Run>& ended) mutable {
      // Otherwise the node that carries it next is asked the same.
      ended ? reply_ended(reply, ended.value()) : reply(std::nullopt);
    });
  }
  store::run(needs_.store.database(), *tenant, *mail.run,
             lifetime_.guard([reply = std::move(reply)](const Result<model::Run>& found) mutable {
               if (!found && found.error().kind == ErrorKind::not_found) {
                 return reply(mail::problem_answer(problem_of_store(found.error())));
               }
               // Not recovered yet, or on its way to another node.
               if (!found || !is_over(found.value().state)) return reply(std::nullopt);
               reply_ended(reply, found.value());
             }));
}

// ── decisions ───────────────────────────────────────────────────────────────────────────────────

void RunRequests::decide(Decision decision, Decided done) {
  const auto tenant = decision.tenant;
  const auto id = decision.approval;
  auto found = [this, decision = std::move(decision),
                done = std::move(done)](const Result<model::Approval>& approval) mutable {
    if (!approval) return done(problem_of_store(approval.error(), "decision"));
    if (is_repeated(approval.value(), decision)) return done(approval.value());
    if (approval.value().status != model::ApprovalStatus::pending) return done(not_open(approval.value()));
    auto* live = needs_.live.find(approval.value().run_id);
    if (live != nullptr && live->gate().waits_for(decision.approval)) {
      return live->gate().decide(std::move(decision), std::move(done));
    }
    if (live == nullptr && !needs_.is_alone) {
      return decide_elsewhere(approval.value().run_id, decision, std::move(done));
    }
    decide_late(std::move(decision), std::move(done));
  };
  store::approval(needs_.store.database(), tenant, id, lifetime_.guard(std::move(found)));
}

// It was open when it was read, and no run waits for it here any more.
void RunRequests::decide_late(Decision decision, Decided done) {
  const auto tenant = decision.tenant;
  const auto id = decision.approval;
  auto found = [decision = std::move(decision),
                done = std::move(done)](const Result<model::Approval>& approval) mutable {
    if (!approval) return done(problem_of_store(approval.error(), "decision"));
    if (is_repeated(approval.value(), decision)) return done(approval.value());
    if (approval.value().status != model::ApprovalStatus::pending) return done(not_open(approval.value()));
    done(unavailable("The run is not being carried on by this server right now; nothing was decided."));
  };
  store::approval(needs_.store.database(), tenant, id, lifetime_.guard(std::move(found)));
}

void RunRequests::decide_elsewhere(model::RunId run, const Decision& decision, Decided done) {
  SLUICE_CHECK(!needs_.is_alone);
  auto answered = [this, tenant = decision.tenant, approval = decision.approval,
                   done = std::move(done)](const Result<std::string>& answer) mutable {
    if (!answer) return done(no_answer(answer.error(), "was decided"));
    if (auto problem = mail::problem_in(answer.value())) return done(*std::move(problem));
    store::approval(needs_.store.database(), tenant, approval,
                    [done = std::move(done)](Result<model::Approval> decided) mutable {
                      if (!decided) return done(problem_of_store(decided.error(), "decision"));
                      done(std::move(decided).take());
                    });
  };
  needs_.postbox.ask({.run = run, .kind = std::string(mail::to_decide), .body = mail::to_json(decision)}, patience,
                     lifetime_.guard(std::move(answered)));
}

void RunRequests::answer_decision(const journal::Mail& mail, Postbox::Reply reply) {
  auto decision = mail::decision_from_json(mail.body);
  if (!decision) return reply(mail::problem_answer({.detail = "The forwarded decision could not be parsed."}));
  const auto tenant = decision->tenant;
  const auto id = decision->approval;
  auto found = [this, decision = *std::move(decision),
                reply = std::move(reply)](const Result<model::Approval>& approval) mutable {
    if (!approval && approval.error().kind != ErrorKind::not_found) return reply(std::nullopt);
    if (!approval) return reply(mail::problem_answer(problem_of_store(approval.error(), "decision")));
    if (is_repeated(approval.value(), decision)) return reply(mail::object_of("approval", decision.approval.text()));
    if (approval.value().status != model::ApprovalStatus::pending) {
      return reply(mail::problem_answer(not_open(approval.value())));
    }
    auto* live = needs_.live.find(approval.value().run_id);
    if (live == nullptr || !live->gate().waits_for(decision.approval)) return reply(std::nullopt);
    live->gate().decide(std::move(decision), [reply = std::move(reply)](const DecideOutcome& outcome) mutable {
      const auto* problem = std::get_if<model::Problem>(&outcome);
      if (problem != nullptr) return reply(mail::problem_answer(*problem));
      reply(mail::object_of("approval", std::get<model::Approval>(outcome).id.text()));
    });
  };
  store::approval(needs_.store.database(), tenant, id, lifetime_.guard(std::move(found)));
}

}  // namespace sluice::engine
