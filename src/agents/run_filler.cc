#include "agents/run_filler.h"

namespace sluice::agents {

void RunFiller::begin() {
  if (!dispatch_.filler || has_words_) return;
  inference::FillerListener& listener = *this;
  filler_ = std::make_unique<inference::Filler>(
      context_.inference(), inference::Filler::Setting{dispatch_.prompt, dispatch_.traceparent, count_}, listener);
}

void RunFiller::end() {
  if (!filler_) return;
  const bool is_mid_phrase = filler_->is_mid_phrase();
  count_ = filler_->phrase_count();
  filler_.reset();
  if (is_mid_phrase) output_.speak(model::EventKind::filler, " ");
}

}  // namespace sluice::agents
