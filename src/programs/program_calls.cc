#include "programs/program_calls.h"

#include <algorithm>
#include <utility>

#include "gates/gates.h"
#include "programs/program_policy.h"

namespace sluice::programs {

using harness::Answer;
using harness::Heard;
using From = ProgramQuestion::From;

namespace {

DecidedCall decision_of(const AskedCall& asked, const std::vector<model::ClientResult>& results) {
  DecidedCall decided{.name = asked.name, .arguments = asked.arguments, .answer = std::nullopt};
  switch (asked.asked) {
    case ProgramAsked::leave: break;
    case ProgramAsked::answer: decided.answer = runs::ToolAnswer{.text = tools::approved_words(asked.items)}; break;
    case ProgramAsked::client: {
      const auto found = std::ranges::find(results, asked.step_id, &model::ClientResult::call_id);
      decided.answer = found == results.end() ? runs::ToolAnswer{.text = "The client gave no result.", .failed = true}
                                              : runs::ToolAnswer{.text = found->content, .failed = found->failed};
      break;
    }
  }
  return decided;
}

}  // namespace

// A tool of the host that carries out a call.
class ProgramCalls::AtWork final : private tools::HostCallListener {
 public:
  AtWork(ProgramCalls& calls, ProgramQuestion asked) : question(std::move(asked)), calls_(calls) {
    const auto& call = question.call;
    call_ = calls_.parts_.toolbox->call({question.step_id, call.name, call.arguments}, question.step_id, *this);
  }
  const ProgramQuestion question;

 private:
  void on_host_custom(std::string_view name, std::string_view value) override {
    calls_.output_.emit(runs::custom_event(name, value));
  }
  void on_host_output(std::string_view text) override {
    calls_.events_.emit_steps(calls_.steps_.print(question.step_id, text));
  }
  void on_host_answer(runs::ToolAnswer answer) override { calls_.end_call(*this, std::move(answer)); }

  ProgramCalls& calls_;
  std::unique_ptr<tools::HostCall> call_;
};

ProgramCalls::ProgramCalls(Needs needs, ProgramCallsUser& user)
    : loop_(needs.loop),
      dispatch_(needs.dispatch),
      output_(needs.output),
      steps_(needs.steps),
      events_(needs.events),
      parts_(needs.parts),
      user_(user) {}

ProgramCalls::~ProgramCalls() = default;

bool ProgramCalls::is_of_host(std::string_view tool) const {
  return parts_.toolbox->has(tool) || (tools::is_ask_tool(tool) && dispatch_.may_ask);
}

std::optional<DecidedCall> ProgramCalls::take_decision(const harness::ProgramCall& call) {
  const auto arguments = canonical_json(runs::scrubbed_json(dispatch_.secrets, call.arguments));
  const auto found = std::ranges::find_if(decided_, [&](const DecidedCall& decided) {
    return decided.name == call.name && canonical_json(decided.arguments) == arguments;
  });
  if (found == decided_.end()) return std::nullopt;
  auto decided = std::move(*found);
  decided_.erase(found);
  return decided;
}

void ProgramCalls::allow(const ProgramQuestion& question) {
  parts_.dialect->answer(question.number, {.kind = Answer::Kind::allow, .text = {}});
  user_.pump();
}

void ProgramCalls::judge_permission(const Heard& heard) {
  ProgramQuestion question{.from = From::permission, .number = heard.question, .call = heard.call};
  // What the host does is judged when it is called.
  if (is_of_host(heard.call.name)) return allow(question);
  const auto ruling = rule_on_program_call(dispatch_.agent.policy, heard.call);
  const auto deny = [&](std::string words) {
    if (!events_.emit_refusal(heard.call, words)) return;
    parts_.dialect->answer(heard.question, {.kind = Answer::Kind::deny, .text = std::move(words)});
    user_.pump();
  };
  if (ruling.effect == model::Effect::deny) return deny(tools::refusal_words(ruling));
  if (take_decision(heard.call) || ruling.effect == model::Effect::allow) return allow(question);
  if (!dispatch_.may_ask) return deny(tools::unasked_words(ruling));
  StepEvents events;
  question.step_id = steps_.claim(heard.call, false, loop_.monotonic_us(), events);
  if (events_.emit_steps(events)) {
    wait_for(std::move(question), ProgramAsked::leave, approval_request_for_program_call(ruling, heard.call));
  }
}

void ProgramCalls::begin_host_call(ProgramQuestion question) {
  if (!events_.is_bounded(question.call.arguments.size())) return;
  StepEvents events;
  question.step_id = steps_.claim(question.call, true, loop_.monotonic_us(), events);
  if (!events_.emit_steps(events)) return;
  const auto& name = question.call.name;
  const models::ToolCall call{question.call.id, name, question.call.arguments};
  const auto ruling = tools::rule_on_host_call(dispatch_.agent.policy, call);
  const auto refuse = [&](std::string words) {
    if (events_.emit_refusal(question.call, words)) reply(question, {.text = std::move(words), .failed = true});
  };
  if (ruling.effect == model::Effect::deny) return refuse(tools::refusal_words(ruling));
  if (auto decided = take_decision(question.call)) {
    return decided->answer ? reply(question, std::move(*decided->answer)) : carry_out(std::move(question));
  }
  if (!is_of_host(name)) return reply(question, {.text = "There is no tool named " + name + ".", .failed = true});
  if (!parts_.toolbox->has(name)) return answer_ask_tool(std::move(question));
  if (ruling.effect == model::Effect::allow) return carry_out(std::move(question));
  if (!dispatch_.may_ask) return refuse(tools::unasked_words(ruling));
  wait_for(std::move(question), ProgramAsked::leave, tools::approval_request_for(ruling, call));
}

// request_approval, request_secret: never asked about themselves.
void ProgramCalls::answer_ask_tool(ProgramQuestion question) {
  auto request = tools::plan_approval_request({question.call.id, question.call.name, question.call.arguments});
  if (!request) return reply(question, {.text = std::move(request.error().what), .failed = true});
  const auto& alias = request.value().items[0].alias;
  if (alias && dispatch_.secrets->find(*alias) != nullptr) return reply(question, {.text = tools::alias_words(*alias)});
  wait_for(std::move(question), ProgramAsked::answer, std::move(request).take());
}

void ProgramCalls::carry_out(ProgramQuestion question) {
  const auto& name = question.call.name;
  if (!parts_.toolbox->has(name))
    return reply(question, {.text = "There is no tool named " + name + ".", .failed = true});
  if (!parts_.toolbox->is_of_client(name)) {
    at_work_.push_back(std::make_unique<AtWork>(*this, std::move(question)));
    return;
  }
  if (!dispatch_.may_ask) {
    return reply(question, {.text = "The client that has the tool " + name + " cannot be asked.", .failed = true});
  }
  tools::ApprovalRequest request{.reason = "The agent calls a tool of the client.",
                                 .items = {{.kind = model::ItemKind::client_tool, .description = "Call " + name}}};
  wait_for(std::move(question), ProgramAsked::client, std::move(request));
}

void ProgramCalls::end_call(const AtWork& call, runs::ToolAnswer answer) {
  const auto question = call.question;
  std::erase_if(at_work_, [&](const auto& one) { return one.get() == &call; });
  const auto alive = lifetime_.watch();
  reply(question, std::move(answer));
  if (!alive.is_over()) user_.on_questions();
}

void ProgramCalls::reply(const ProgramQuestion& question, runs::ToolAnswer answer) {
  answer.text = output_.scrubbed(std::move(answer.text));
  if (!events_.emit_steps(steps_.end(question.step_id, answer, loop_.monotonic_us()))) return;
  if (question.from == From::bridge) {
    if (parts_.endpoint) parts_.endpoint->answer(question.number, answer);
    return;
  }
  if (!parts_.dialect) return;
  parts_.dialect->answer(question.number,
                         {.kind = Answer::Kind::result, .text = std::move(answer.text), .failed = answer.failed});
  user_.pump();
}

// What a human is being asked already, he is asked; the program may come again for the answer.
void ProgramCalls::withdraw(From from, uint64_t number) {
  const auto is_it = [&](const ProgramQuestion& question) {
    return question.from == from && question.number == number;
  };
  for (auto& question : asked_) {
    if (is_it(question)) question.left = true;
  }
  std::vector<std::string> steps;
  const auto note = [&](const ProgramQuestion& question) {
    if (from != From::permission) steps.push_back(question.step_id);
  };
  for (const auto& question : questions_) {
    if (is_it(question)) note(question);
  }
  for (const auto& call : at_work_) {
    if (is_it(call->question)) note(call->question);
  }
  std::erase_if(questions_, is_it);
  std::erase_if(at_work_, [&](const auto& call) { return is_it(call->question); });
  for (const auto& step_id : steps) {
    if (!events_.emit_steps(steps_.end(step_id, {.text = "The agent program did not wait for it.", .failed = true},
                                       loop_.monotonic_us())))
      return;
  }
}

void ProgramCalls::wait_for(ProgramQuestion question, ProgramAsked asked, tools::ApprovalRequest request) {
  request.reason = output_.scrubbed(std::move(request.reason));
  for (auto& item : request.items) {
    item.description = output_.scrubbed(std::move(item.description));
    if (item.kind == model::ItemKind::secret || question.step_id.empty()) continue;
    item.call = model::ClientCall{question.step_id, question.call.name,
                                  runs::scrubbed_json(dispatch_.secrets, question.call.arguments)};
  }
  question.asked = asked;
  question.request = std::move(request);
  questions_.push_back(std::move(question));
  // Not at once: what the program asks in the same breath can be asked together.
  if (std::exchange(is_considering_, true)) return;
  loop_.defer(lifetime_.guard([this] {
    is_considering_ = false;
    user_.on_questions();
  }));
}

void ProgramCalls::judge_request(const egress::Question& asked, bool can_wait) {
  ProgramQuestion question{.from = From::way_out, .number = asked.number};
  question.host = asked.alias.empty() ? asked.host : "";
  question.request = tools::approval_request_for(asked);
  if (settle_if_decided(question)) return;
  if (!dispatch_.may_ask) return parts_.session->settle(asked.number, false, tools::unasked_words(asked));
  // A request cannot outlive its sandbox, and the program could not be made to send it again.
  if (!dispatch_.keeps_box || !can_wait) {
    constexpr std::string_view when = "where the conversation keeps its sandbox (runtime mode sticky)";
    return parts_.session->settle(asked.number, false, tools::untimely_words(asked, when));
  }
  wait_for(std::move(question), ProgramAsked::leave, tools::approval_request_for(asked));
}

bool ProgramCalls::settle_if_decided(const ProgramQuestion& question) {
  if (!is_settled(question)) return false;
  parts_.session->settle(question.number, true, "");
  return true;
}

bool ProgramCalls::is_settled(const ProgramQuestion& question) const {
  if (question.from != From::way_out) return false;
  if (!question.host.empty()) return parts_.session->is_allowed_host(question.host);
  return dispatch_.secrets->find(*question.request.items[0].alias) != nullptr;
}

// A tool of the host that is at work is not broken off by what another waits for: it might be called twice.
bool ProgramCalls::ask_next() {
  while (!questions_.empty() && settle_if_decided(questions_.front())) questions_.pop_front();
  if (questions_.empty() || (!dispatch_.keeps_box && !at_work_.empty())) return false;
  const bool is_of_client = questions_.front().asked == ProgramAsked::client;
  do {
    asked_.push_back(std::move(questions_.front()));
    questions_.pop_front();
  } while (is_of_client && !questions_.empty() && questions_.front().asked == ProgramAsked::client);
  return true;
}

bool ProgramCalls::go_on(const std::vector<model::ClientResult>& results) {
  const auto alive = lifetime_.watch();
  const bool is_there = parts_.process != nullptr;
  for (auto& question : std::exchange(asked_, {})) {
    question.left = question.left || !is_there;
    grant(question, results);
    if (alive.is_over() || !parts_.session) return false;
  }
  return true;
}

void ProgramCalls::grant(ProgramQuestion& question, const std::vector<model::ClientResult>& results) {
  const AskedCall asked{.asked = question.asked,
                        .step_id = question.step_id,
                        .name = question.call.name,
                        .arguments = question.call.arguments,
                        .items = question.request.items};
  if (question.from == From::way_out) {
    if (!question.host.empty()) parts_.session->allow_host(question.host);
    parts_.session->settle(question.number, true, "");
    if (!parts_.process) resumed_.push_back(asked);
    return;
  }
  auto decided = decision_of(asked, results);
  if (question.left) {
    if (question.from != From::permission) steps_.release(question.step_id);
    decided.arguments = runs::scrubbed_json(dispatch_.secrets, std::move(decided.arguments));
    decided_.push_back(std::move(decided));
    if (!parts_.process) resumed_.push_back(asked);
    return;
  }
  if (question.from == From::permission) return allow(question);
  decided.answer ? reply(question, std::move(*decided.answer)) : carry_out(std::move(question));
}

void ProgramCalls::restore(std::vector<AskedCall> asked, std::vector<DecidedCall> decided,
                           const std::vector<model::ClientResult>& results) {
  decided_ = std::move(decided);
  resumed_ = std::move(asked);
  for (const auto& call : resumed_) {
    if (!call.name.empty()) decided_.push_back(decision_of(call, results));
  }
}

std::vector<AskedCall> ProgramCalls::asked_calls() const {
  std::vector<AskedCall> calls;
  for (const auto& question : asked_) {
    calls.push_back({.asked = question.asked,
                     .step_id = question.step_id,
                     .name = question.call.name,
                     .arguments = runs::scrubbed_json(dispatch_.secrets, question.call.arguments),
                     .items = question.request.items});
  }
  return calls;
}

void ProgramCalls::end_turn() {
  for (const auto& question : std::exchange(questions_, {})) {
    if (question.from == From::way_out) {
      parts_.session->settle(question.number, false, "The agent's turn is over.");
    }
  }
  stop();
}

void ProgramCalls::stop() { at_work_.clear(); }

void ProgramCalls::forget() {
  stop();
  questions_.clear();
}

bool ProgramCalls::is_any_waiting() const { return !at_work_.empty() || !questions_.empty() || !asked_.empty(); }

}  // namespace sluice::programs
