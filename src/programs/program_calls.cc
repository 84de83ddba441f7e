// What an agent program asks before it does it, and what it has the host do for it.
#include <algorithm>
#include <utility>

#include "gates/gates.h"
#include "programs/program_policy.h"
#include "programs/program_work.h"
#include "runs/runs.h"
#include "tools/tools.h"

namespace sluice::programs {

using harness::Answer;
using harness::Heard;
using model::EventKind;

ProgramWork::Errand::Errand(ProgramWork& work, Question asked) : question(std::move(asked)), work_(work) {
  const auto& call = question.call;
  call_ = work_.toolbox_->call({question.step_id, call.name, call.arguments}, question.step_id, *this);
}

void ProgramWork::Errand::on_host_custom(std::string_view name, std::string_view value) {
  work_.output_.emit(EventKind::custom, runs::custom_body(name, value));
}

void ProgramWork::Errand::on_host_output(std::string_view text) {
  work_.emit(work_.steps_.print(question.step_id, text));
}

void ProgramWork::Errand::on_host_answer(runs::ToolAnswer answer) { work_.end_errand(*this, std::move(answer)); }

bool ProgramWork::is_of_host(std::string_view tool) const {
  return toolbox_->has(tool) || (tools::is_ask_tool(tool) && dispatch_.may_ask);
}

std::optional<DecidedCall> ProgramWork::take_decision(const harness::ProgramCall& call) {
  const auto arguments = canonical_json(runs::scrubbed_json(dispatch_.secrets, call.arguments));
  const auto found = std::ranges::find_if(decided_, [&](const DecidedCall& decided) {
    return decided.name == call.name && canonical_json(decided.arguments) == arguments;
  });
  if (found == decided_.end()) return std::nullopt;
  auto decided = std::move(*found);
  decided_.erase(found);
  return decided;
}

void ProgramWork::allow(const Question& question) {
  dialect_->answer(question.number, {.kind = Answer::Kind::allow, .text = {}});
  pump();
}

// Some programs end their turn at a refusal without a word, or in words of their own: that it was ours is told here.
bool ProgramWork::tell_refusal(const harness::ProgramCall& call, std::string_view why) {
  refusal_ = refused_call_words(call, why) + ".";
  return is_bounded(refusal_.size()) && emit({{EventKind::log, runs::log_body("warn", refusal_)}});
}

void ProgramWork::judge_permission(const Heard& heard) {
  Question question{.from = Question::From::permission, .number = heard.question, .call = heard.call};
  // What the host does is judged when it is called.
  if (is_of_host(heard.call.name)) return allow(question);
  const auto ruling = rule_on_program_call(dispatch_.agent.policy, heard.call);
  const auto deny = [&](std::string words) {
    if (!tell_refusal(heard.call, words)) return;
    dialect_->answer(heard.question, {.kind = Answer::Kind::deny, .text = std::move(words)});
    pump();
  };
  if (ruling.effect == model::Effect::deny) return deny(tools::refusal_words(ruling));
  if (take_decision(heard.call) || ruling.effect == model::Effect::allow) return allow(question);
  if (!dispatch_.may_ask) return deny(tools::unasked_words(ruling));
  StepEvents told;
  question.step_id = steps_.claim(heard.call, false, now_us(), told);
  if (emit(std::move(told))) {
    wait_for(std::move(question), ProgramAsked::leave, approval_request_for_program_call(ruling, heard.call));
  }
}

void ProgramWork::on_bridge_call(tools::BridgeCall call) {
  Question question{.from = Question::From::bridge,
                    .number = call.number,
                    .call = {std::move(call.call_id), std::move(call.tool), std::move(call.arguments)}};
  if (!toolbox_ || phase_ == Phase::ending || phase_ == Phase::parking) {
    return door_->answer(question.number, {.text = "The agent's turn is over.", .failed = true});
  }
  heard_us_ = now_us();
  begin_host_call(std::move(question));
}

void ProgramWork::on_bridge_call_left(uint64_t number) { withdraw(Question::From::bridge, number); }

void ProgramWork::begin_host_call(Question question) {
  if (!is_bounded(question.call.arguments.size())) return;
  StepEvents told;
  question.step_id = steps_.claim(question.call, true, now_us(), told);
  if (!emit(std::move(told))) return;
  const auto& name = question.call.name;
  const models::ToolCall call{question.call.id, name, question.call.arguments};
  const auto ruling = tools::rule_on_host_call(dispatch_.agent.policy, call);
  const auto refuse = [&](std::string words) {
    if (tell_refusal(question.call, words)) reply(question, {.text = std::move(words), .failed = true});
  };
  if (ruling.effect == model::Effect::deny) return refuse(tools::refusal_words(ruling));
  if (auto decided = take_decision(question.call)) {
    return decided->answer ? reply(question, std::move(*decided->answer)) : carry_out(std::move(question));
  }
  if (!is_of_host(name)) return reply(question, {.text = "There is no tool named " + name + ".", .failed = true});
  if (!toolbox_->has(name)) return begin_asking(std::move(question));
  if (ruling.effect == model::Effect::allow) return carry_out(std::move(question));
  if (!dispatch_.may_ask) return refuse(tools::unasked_words(ruling));
  wait_for(std::move(question), ProgramAsked::leave, tools::approval_request_for(ruling, call));
}

// request_approval, request_secret: never asked about themselves.
void ProgramWork::begin_asking(Question question) {
  auto request = tools::plan_approval_request({question.call.id, question.call.name, question.call.arguments});
  if (!request) return reply(question, {.text = std::move(request.error().what), .failed = true});
  const auto& alias = request.value().items[0].alias;
  if (alias && dispatch_.secrets->find(*alias) != nullptr) return reply(question, {.text = tools::alias_words(*alias)});
  wait_for(std::move(question), ProgramAsked::answer, std::move(request).take());
}

void ProgramWork::carry_out(Question question) {
  const auto& name = question.call.name;
  if (!toolbox_->has(name)) return reply(question, {.text = "There is no tool named " + name + ".", .failed = true});
  if (!toolbox_->is_of_client(name)) {
    errands_.push_back(std::make_unique<Errand>(*this, std::move(question)));
    return;
  }
  if (!dispatch_.may_ask) {
    return reply(question, {.text = "The client that has the tool " + name + " cannot be asked.", .failed = true});
  }
  tools::ApprovalRequest request{.reason = "The agent calls a tool of the client.",
                                 .items = {{.kind = model::ItemKind::client_tool, .description = "Call " + name}}};
  wait_for(std::move(question), ProgramAsked::client, std::move(request));
}

void ProgramWork::end_errand(const Errand& errand, runs::ToolAnswer answer) {
  const auto question = errand.question;
  std::erase_if(errands_, [&](const auto& one) { return one.get() == &errand; });
  const auto alive = lifeline_.watch();
  reply(question, std::move(answer));
  if (!alive.expired()) consider_gate();
}

void ProgramWork::reply(const Question& question, runs::ToolAnswer answer) {
  answer.text = clean(std::move(answer.text));
  if (!emit(steps_.end(question.step_id, answer, now_us()))) return;
  if (question.from == Question::From::bridge) {
    if (door_) door_->answer(question.number, answer);
    return;
  }
  if (!dialect_) return;
  dialect_->answer(question.number,
                   {.kind = Answer::Kind::result, .text = std::move(answer.text), .failed = answer.failed});
  pump();
}

// What a human is being asked already, he is asked; the program may come again for the answer.
void ProgramWork::withdraw(Question::From from, uint64_t number) {
  if (phase_ == Phase::parking) return;  // it goes because we end it
  const auto is_it = [&](const Question& question) { return question.from == from && question.number == number; };
  for (auto& question : asked_) {
    if (is_it(question)) question.left = true;
  }
  std::vector<std::string> steps;
  const auto note = [&](const Question& question) {
    if (from != Question::From::permission) steps.push_back(question.step_id);
  };
  for (const auto& question : questions_) {
    if (is_it(question)) note(question);
  }
  for (const auto& errand : errands_) {
    if (is_it(errand->question)) note(errand->question);
  }
  std::erase_if(questions_, is_it);
  std::erase_if(errands_, [&](const auto& errand) { return is_it(errand->question); });
  for (const auto& step_id : steps) {
    if (!emit(steps_.end(step_id, {.text = "The agent program did not wait for it.", .failed = true}, now_us())))
      return;
  }
}

}  // namespace sluice::programs
