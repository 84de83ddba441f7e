// How a run of an agent program waits for a human: with the program standing still where the box is kept, otherwise
// with the program ended and its session resumed afterwards.
#include <algorithm>
#include <utility>

#include "programs/program_work.h"
#include "tools/tools.h"

namespace sluice::programs {

using harness::Answer;
using model::Slug;

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

void ProgramWork::wait_for(Question question, ProgramAsked asked, tools::ApprovalRequest request) {
  request.reason = clean(std::move(request.reason));
  for (auto& item : request.items) {
    item.description = clean(std::move(item.description));
    if (item.kind == model::ItemKind::secret || question.step_id.empty()) continue;
    item.call = model::ClientCall{question.step_id, question.call.name,
                                  runs::scrubbed_json(dispatch_.secrets, question.call.arguments)};
  }
  question.asked = asked;
  question.request = std::move(request);
  questions_.push_back(std::move(question));
  // Not at once: what the program asks in the same breath can be asked together.
  if (std::exchange(is_considering_, true)) return;
  context_.loop().defer([this, alive = lifeline_.watch()] {
    if (alive.expired()) return;
    is_considering_ = false;
    consider_gate();
  });
}

void ProgramWork::on_session_question(egress::Question asked) {
  Question question{.from = Question::From::way_out, .number = asked.number};
  question.host = asked.alias.empty() ? asked.host : "";
  question.request = tools::approval_request_for(asked);
  if (asked.host == model_.host && asked.alias.empty()) return session_->settle(asked.number, true, "");
  if (is_settled(question)) return session_->settle(asked.number, true, "");
  const bool can_wait = phase_ == Phase::running || phase_ == Phase::holding || phase_ == Phase::waiting;
  if (!dispatch_.may_ask) return session_->settle(asked.number, false, tools::unasked_words(asked));
  // A request cannot outlive its box, and the program could not be made to send it again.
  if (!dispatch_.keeps_box || !can_wait) {
    constexpr std::string_view when = "where the conversation keeps its sandbox (runtime mode sticky)";
    return session_->settle(asked.number, false, tools::untimely_words(asked, when));
  }
  wait_for(std::move(question), ProgramAsked::leave, tools::approval_request_for(asked));
}

bool ProgramWork::is_settled(const Question& question) const {
  if (question.from != Question::From::way_out) return false;
  if (!question.host.empty()) return session_->is_allowed_host(question.host);
  return dispatch_.secrets->find(*question.request.items[0].alias) != nullptr;
}

// A tool of the host that is at work is not broken off by what another waits for: it might be called twice.
void ProgramWork::consider_gate() {
  if (phase_ != Phase::running) return;
  while (!questions_.empty() && is_settled(questions_.front())) {
    session_->settle(questions_.front().number, true, "");
    questions_.pop_front();
  }
  if (questions_.empty() || (!dispatch_.keeps_box && !errands_.empty())) return;
  const bool is_of_client = questions_.front().asked == ProgramAsked::client;
  do {
    asked_.push_back(std::move(questions_.front()));
    questions_.pop_front();
  } while (is_of_client && !questions_.empty() && questions_.front().asked == ProgramAsked::client);
  begin_wait();
}

void ProgramWork::begin_wait() {
  phase_ = dispatch_.keeps_box ? Phase::holding : Phase::parking;
  const auto alive = lifeline_.watch();
  end_filler();
  if (!alive.expired()) output_.flush();
  if (alive.expired()) return;
  runtime_used_ms_ += (now_us() - runtime_began_us_) / 1000;
  runtime_.cancel();
  silence_.cancel();
  steps_.pause(now_us());
  if (!dispatch_.keeps_box) return end_for_wait();
  read_or_pause();
  hold();
}

void ProgramWork::end_for_wait() {
  const bool defers = asked_[0].from == Question::From::permission && makers_.can_defer(agent_type());
  if (!defers) return process_->stop();
  dialect_->answer(asked_[0].number, {.kind = Answer::Kind::defer, .text = {}});
  pump();
  end_ = context_.loop().after(Millis{options_.end_ms_max}, [this] { process_->stop(); });
}

void ProgramWork::hold() {
  end_.cancel();
  if (!dispatch_.keeps_box) {
    door_.reset();
    toolbox_.reset();
    home_.reset();
    if (!emit(steps_.let_go("The agent program was ended while a human is asked.", now_us()))) return;
  }
  session_->hold([this] { raise_gate(); });
}

void ProgramWork::raise_gate() {
  harness::Gate gate{.reason = asked_[0].request.reason,
                     .lifetime_seconds = asked_[0].request.lifetime_seconds,
                     .checkpoint = checkpoint(),
                     .keeps_box = dispatch_.keeps_box};
  for (const auto& question : asked_) {
    gate.items.insert(gate.items.end(), question.request.items.begin(), question.request.items.end());
  }
  if (gate.keeps_box) {
    phase_ = Phase::waiting;
    output_.pause();
  } else {
    stop_all();
  }
  listener_.on_gate(std::move(gate));
}

std::string ProgramWork::checkpoint() const {
  ProgramCheckpoint checkpoint{
      .agent_type = agent_type(),
      .session_id = session_id_,
      .is_deferred = is_deferred_,
      .decided = decided_,
      .steps = steps_.open_steps(),
      .session = session_->state(),
      .step_count = steps_.count(),
      .said = said(),
      .said_bytes = static_cast<int64_t>(said_bytes_),
      .has_spoken = has_spoken_,
      .filler_count = filler_count_,
      .runtime_used_ms = runtime_used_ms_,
      .usage = {usage_before_.input_tokens + usage_.input_tokens, usage_before_.output_tokens + usage_.output_tokens}};
  for (auto& step : checkpoint.steps)
    step.arguments = runs::scrubbed_json(dispatch_.secrets, std::move(step.arguments));
  for (const auto& question : asked_) {
    checkpoint.asked.push_back({.asked = question.asked,
                                .step_id = question.step_id,
                                .name = question.call.name,
                                .arguments = runs::scrubbed_json(dispatch_.secrets, question.call.arguments),
                                .items = question.request.items});
    // Whoever goes on from here does so because it was allowed.
    if (!question.host.empty()) checkpoint.session.allowed_hosts.push_back(question.host);
  }
  return to_json(checkpoint);
}

bool ProgramWork::take_up_checkpoint() {
  auto read = program_checkpoint_from_json(dispatch_.checkpoint);
  if (read && read.value().agent_type != agent_type()) {
    read = Error{ErrorKind::corrupt, "it is of the agent program " + read.value().agent_type};
  }
  if (!read) {
    fail(Slug::run_interrupted,
         "The run was approved but cannot go on: its checkpoint cannot be read, " + read.error().what + ".");
    return false;
  }
  auto checkpoint = std::move(read).take();
  session_id_ = told_session_ = std::move(checkpoint.session_id);
  is_deferred_ = checkpoint.is_deferred;
  decided_ = std::move(checkpoint.decided);
  resumed_ = std::move(checkpoint.asked);
  for (const auto& asked : resumed_) {
    if (!asked.name.empty()) decided_.push_back(decision_of(asked, dispatch_.results));
  }
  steps_.take_up(checkpoint.steps, checkpoint.step_count, now_us());
  session_state_ = std::move(checkpoint.session);
  said_before_ = std::move(checkpoint.said);
  paragraphs_.note(said_before_);
  paragraphs_.end_round();
  said_bytes_ = static_cast<std::size_t>(checkpoint.said_bytes);
  has_spoken_ = checkpoint.has_spoken;
  filler_count_ = checkpoint.filler_count;
  runtime_used_ms_ = checkpoint.runtime_used_ms;
  usage_before_ = checkpoint.usage;
  return true;
}

void ProgramWork::go_on(std::vector<model::ClientResult> results) {
  SLUICE_CHECK(phase_ == Phase::waiting);
  context_.loop().defer([this, results = std::move(results), alive = lifeline_.watch()] {
    if (alive.expired() || !session_) return;
    session_->go_on();
    output_.go_on();
    if (alive.expired()) return;
    begin_clocks();
    steps_.go_on(now_us());
    auto asked = std::exchange(asked_, {});
    phase_ = Phase::running;
    const bool is_there = process_ != nullptr;
    for (auto& question : asked) {
      question.left = question.left || !is_there;
      grant(question, results);
      if (alive.expired() || !session_) return;
    }
    if (!is_there) return resume_program();
    if (is_turn_over_) return finish_turn();
    heard_us_ = now_us();
    watch_silence();
    read_or_pause();
    consider_gate();
  });
}

void ProgramWork::grant(Question& question, const std::vector<model::ClientResult>& results) {
  const AskedCall asked{.asked = question.asked,
                        .step_id = question.step_id,
                        .name = question.call.name,
                        .arguments = question.call.arguments,
                        .items = question.request.items};
  if (question.from == Question::From::way_out) {
    if (!question.host.empty()) session_->allow_host(question.host);
    session_->settle(question.number, true, "");
    if (!process_) resumed_.push_back(asked);
    return;
  }
  auto decided = decision_of(asked, results);
  if (question.left) {
    if (question.from != Question::From::permission) steps_.release(question.step_id);
    decided.arguments = runs::scrubbed_json(dispatch_.secrets, std::move(decided.arguments));
    decided_.push_back(std::move(decided));
    if (!process_) resumed_.push_back(asked);
    return;
  }
  if (question.from == Question::From::permission) return allow(question);
  decided.answer ? reply(question, std::move(*decided.answer)) : carry_out(std::move(question));
}

// Its process, or its box, did not live to see the answer.
void ProgramWork::resume_program() {
  door_.reset();
  errands_.clear();
  toolbox_.reset();
  home_.reset();
  questions_.clear();
  const auto open = steps_.open_steps();
  if (!emit(steps_.let_go("The agent program ended while a human was asked.", now_us()))) return;
  steps_.take_up(open, steps_.count(), now_us());
  said_before_ = said();
  raw_.clear();
  breaks_.clear();
  usage_before_ = {usage_before_.input_tokens + usage_.input_tokens,
                   usage_before_.output_tokens + usage_.output_tokens};
  usage_ = {};
  open_box();
}

}  // namespace sluice::programs
