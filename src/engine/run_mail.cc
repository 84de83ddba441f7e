// What engines ask of each other: whoever is asked about a run that another node carries passes it on, and whoever
// carries it answers.
#include "engine/gate_records.h"
#include "engine/mail_words.h"
#include "engine/problems.h"
#include "engine/recovery.h"
#include "engine/run_engine.h"

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

}  // namespace

// ── asking ──────────────────────────────────────────────────────────────────────────────────────

void RunEngine::cancel_elsewhere(const model::Run& run, Cancelled done) {
  auto answered = [this, run, done = std::move(done)](const Result<std::string>& answer) mutable {
    if (!answer) return done(no_answer(answer.error(), "was cancelled"));
    if (auto problem = mail::problem_in(answer.value())) return done(*std::move(problem));
    needs_.store.run(run.tenant_id, run.id, [done = std::move(done)](Result<model::Run> ended) mutable {
      if (!ended) return done(problem_of_store(ended.error()));
      done(std::move(ended).take());
    });
  };
  postbox_.ask(
      {.run = run.id, .kind = std::string(mail::to_cancel), .body = mail::object_of("tenant", run.tenant_id.text())},
      patience, while_alive(std::move(answered)));
}

void RunEngine::decide_elsewhere(model::RunId run, const Decision& decision, Callback<void(DecideOutcome)> done) {
  auto answered = [this, tenant = decision.tenant, approval = decision.approval,
                   done = std::move(done)](const Result<std::string>& answer) mutable {
    if (!answer) return done(no_answer(answer.error(), "was decided"));
    if (auto problem = mail::problem_in(answer.value())) return done(*std::move(problem));
    needs_.store.approval(tenant, approval, [done = std::move(done)](Result<model::Approval> decided) mutable {
      if (!decided) return done(problem_of_store(decided.error(), "decision"));
      done(std::move(decided).take());
    });
  };
  postbox_.ask({.run = run, .kind = std::string(mail::to_decide), .body = mail::to_json(decision)}, patience,
               while_alive(std::move(answered)));
}

void RunEngine::tell_others(std::string_view kind, const std::string& body) {
  for (const auto& other : peers_.others()) {
    postbox_.ask({.to = other.id, .kind = std::string(kind), .body = body}, patience, nullptr);
  }
}

void RunEngine::ask_node(model::NodeId node, std::string kind, std::string body,
                         Callback<void(Result<std::string>)> done) {
  postbox_.ask({.to = node, .kind = std::move(kind), .body = std::move(body)}, patience, std::move(done));
}

void RunEngine::answer_nodes(std::string kind, NodeAnswerer answerer) {
  answerers_.insert_or_assign(std::move(kind), std::move(answerer));
}

// ── answering ───────────────────────────────────────────────────────────────────────────────────

void RunEngine::on_mail(const store::Mail& mail, Reply reply) {
  if (mail.kind == mail::to_cancel) return cancel_by_mail(mail, std::move(reply));
  if (mail.kind == mail::to_decide) return decide_by_mail(mail, std::move(reply));
  if (mail.kind == mail::to_take) return take_by_mail(mail, std::move(reply));
  if (mail.kind == mail::conversation_changed || mail.kind == mail::secrets_changed)
    return hear_of_change(mail, std::move(reply));
  if (const auto other = answerers_.find(mail.kind); other != answerers_.end()) {
    return other->second(mail.body,
                         [reply = std::move(reply)](std::string answer) mutable { reply(std::move(answer)); });
  }
  // Of a later version: whoever asks does without.
  reply(mail::problem_answer(problem_of(model::Slug::unavailable, "This server does not know what it is asked.")));
}

void RunEngine::cancel_by_mail(const store::Mail& mail, Reply reply) {
  const auto tenant = model::TenantId::parse(mail::text_in(mail.body, "tenant"));
  if (!tenant || !mail.run) return reply(mail::problem_answer({.detail = "The request made no sense."}));
  auto tell = [](Reply& to, const model::Run& ended) {
    if (ended.state != RunState::cancelled) return to(mail::problem_answer(ended_as(ended)));
    to(mail::object_of("run", ended.id.text()));
  };
  if (auto* live = find(*mail.run)) {
    return live->cancel([tell, reply = std::move(reply)](const Result<model::Run>& ended) mutable {
      // Whoever carries it next is asked the same.
      ended ? tell(reply, ended.value()) : reply(std::nullopt);
    });
  }
  needs_.store.run(*tenant, *mail.run,
                   while_alive([tell, reply = std::move(reply)](const Result<model::Run>& found) mutable {
                     if (!found && found.error().kind == ErrorKind::not_found) {
                       return reply(mail::problem_answer(problem_of_store(found.error())));
                     }
                     // Not taken up yet, or on its way to another node.
                     if (!found || !is_over(found.value().state)) return reply(std::nullopt);
                     tell(reply, found.value());
                   }));
}

void RunEngine::decide_by_mail(const store::Mail& mail, Reply reply) {
  auto decision = mail::decision_from_json(mail.body);
  if (!decision) return reply(mail::problem_answer({.detail = "The decision made no sense."}));
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
    auto* live = find(approval.value().run_id);
    if (live == nullptr || !live->waits_for(decision.approval)) return reply(std::nullopt);
    live->decide(std::move(decision), [reply = std::move(reply)](const DecideOutcome& outcome) mutable {
      const auto* problem = std::get_if<model::Problem>(&outcome);
      if (problem != nullptr) return reply(mail::problem_answer(*problem));
      reply(mail::object_of("approval", std::get<model::Approval>(outcome).id.text()));
    });
  };
  needs_.store.approval(tenant, id, while_alive(std::move(found)));
}

// Only what is still at that epoch: whoever asked may have gone on by itself meanwhile.
void RunEngine::take_by_mail(const store::Mail& mail, Reply reply) {
  const auto request = mail::take_from_json(mail.body);
  const auto no = mail::object_of("taken", "no");
  if (!request || draining_ || store_silent_ || recovery_ == nullptr) return reply(no);
  auto found = [this, no, epoch = request->epoch, reply = std::move(reply)](const Result<model::Run>& run) mutable {
    if (!run || !admission_.has_lease(run.value().conversation_id)) return reply(no);
    auto taken = [this, no, life = life_, reply = std::move(reply)](const Result<model::Run>& mine) mutable {
      if (!mine) return reply(no);
      reply(mail::object_of("taken", "yes"));
      if (recovery_ == nullptr) return;  // it is taken up with all else of this node
      // Whoever looked for all else may have looked too early.
      life == life_ ? recovery_->adopt(mine.value()) : recovery_->take(mine.value());
    };
    needs_.store.take_over(run.value().id, epoch, while_alive(std::move(taken)));
  };
  needs_.store.run(request->tenant, request->run, while_alive(std::move(found)));
}

void RunEngine::hear_of_change(const store::Mail& mail, Reply reply) {
  const auto tenant = model::TenantId::parse(mail::text_in(mail.body, "tenant"));
  const auto conversation = model::ConversationId::parse(mail::text_in(mail.body, "conversation"));
  reply("{}");
  if (tenant && mail.kind == mail::secrets_changed) renew_secrets(*tenant);
  if (!tenant || !conversation) return;
  needs_.store.conversation(*tenant, *conversation, while_alive([this](const Result<model::Conversation>& found) {
    if (found) apply_change(found.value());
  }));
}

}  // namespace sluice::engine
