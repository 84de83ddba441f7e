// How a run waits for a human: it says all that another life needs to go on, then goes away or stands still.
#include <utility>

#include "native/native_loop.h"

namespace sluice::native {

using model::Slug;

void NativeLoop::on_call_waits(tools::ApprovalRequest request) {
  request_ = std::move(request);
  const auto alive = lifeline_.watch();
  end_filler();
  if (!alive.expired()) output_.flush();
  if (alive.expired()) return;
  runtime_used_ms_ += (context_.now_us() - runtime_began_us_) / 1000;
  runtime_.cancel();
  if (!dispatch_.keeps_box) {
    calls_->let_go();
    toolbox_.reset();
  }
  if (!session_) return raise_gate();
  session_->hold([this] {
    calls_->note_changed(session_->held_changed());
    raise_gate();
  });
}

std::string NativeLoop::checkpoint() const {
  LoopCheckpoint checkpoint{.calls = calls_->state(),
                            .round_count = round_count_,
                            .step_count = step_count_,
                            .said_bytes = static_cast<int64_t>(said_bytes_),
                            .has_spoken = has_spoken_,
                            .filler_count = filler_count_,
                            .runtime_used_ms = runtime_used_ms_,
                            .usage = usage_};
  const auto first = prompt_.turns.begin() + static_cast<std::ptrdiff_t>(dispatch_.history.size() + 1);
  checkpoint.turns.assign(first, prompt_.turns.end());
  for (auto& turn : checkpoint.turns) {
    for (auto& call : turn.calls) call.arguments = runs::scrubbed_json(dispatch_.secrets, std::move(call.arguments));
  }
  if (session_) checkpoint.session = session_->state();
  return to_json(checkpoint);
}

void NativeLoop::raise_gate() {
  harness::Gate gate{.reason = std::move(request_.reason),
                     .items = std::move(request_.items),
                     .lifetime_seconds = request_.lifetime_seconds,
                     .checkpoint = checkpoint(),
                     .keeps_box = dispatch_.keeps_box};
  is_waiting_ = gate.keeps_box;
  if (is_waiting_) {
    output_.pause();
  } else {
    stop_all();
  }
  listener_.on_gate(std::move(gate));
}

void NativeLoop::go_on(std::vector<model::ClientResult> results) {
  SLUICE_CHECK(std::exchange(is_waiting_, false));
  context_.loop().defer([this, alive = lifeline_.watch(), results = std::move(results)] {
    if (alive.expired() || !calls_) return;
    if (session_) session_->go_on();
    output_.go_on();
    if (alive.expired()) return;
    begin_clocks();
    calls_->go_on(results);
  });
}

void NativeLoop::take_up_checkpoint() {
  auto read = checkpoint_from_json(dispatch_.checkpoint);
  if (!read) {
    return fail(Slug::run_interrupted,
                "The run was approved but cannot go on: its checkpoint cannot be read, " + read.error().what + ".");
  }
  auto checkpoint = std::move(read).take();
  for (auto& turn : checkpoint.turns) {
    if (turn.role == model::Role::assistant) {
      const auto paragraph = paragraphs_.before(turn.text);
      if (dispatch_.supplies) said_ += paragraph + turn.text;
      paragraphs_.end_round();
    }
    prompt_.turns.push_back(std::move(turn));
  }
  round_count_ = static_cast<int>(checkpoint.round_count);
  step_count_ = static_cast<int>(checkpoint.step_count);
  said_bytes_ = static_cast<std::size_t>(checkpoint.said_bytes);
  has_spoken_ = checkpoint.has_spoken;
  filler_count_ = checkpoint.filler_count;
  runtime_used_ms_ = checkpoint.runtime_used_ms;
  usage_ = checkpoint.usage;
  open_session(std::move(checkpoint.session));
  begin_clocks();
  take_up_calls(std::move(checkpoint.calls));
  open_toolbox([this] { calls_->go_on(dispatch_.results); });
}

void NativeLoop::on_session_question(egress::Question question) {
  if (calls_) return calls_->hear(std::move(question));
  session_->settle(question.number, false, "No human can be asked at this point.");
}

}  // namespace sluice::native
