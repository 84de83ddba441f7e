#include "programs/program_answer.h"

#include <utility>

namespace sluice::programs {

using model::EventKind;

void ProgramAnswer::say(std::string text) {
  if (auto paragraph = paragraphs_.before(text); !paragraph.empty()) {
    breaks_.push_back({raw_.size(), paragraph});
    const auto alive = lifetime_.watch();
    output_.speak(EventKind::text, std::move(paragraph));
    if (alive.is_over()) return;
  }
  raw_ += text;
  output_.speak(EventKind::text, std::move(text));
}

std::string ProgramAnswer::text() const {
  auto text = before_;
  std::size_t from = 0;
  for (const auto& paragraph : breaks_) {
    text += output_.scrubbed(raw_.substr(from, paragraph.at - from)) + paragraph.text;
    from = paragraph.at;
  }
  return text + output_.scrubbed(raw_.substr(from));
}

// The dialect counts what its program said; the event, what the run emitted.
void ProgramAnswer::replace(std::size_t kept_bytes) {
  raw_ = runs::utf8_prefix(raw_, kept_bytes);
  const auto taken_back = std::erase_if(breaks_, [&](const Break& one) { return one.at >= raw_.size(); });
  paragraphs_.take_back(text(), taken_back > 0);
  output_.emit(model::events::Replaced{static_cast<int64_t>(text().size())});
}

void ProgramAnswer::begin_process() {
  before_ = text();
  raw_.clear();
  breaks_.clear();
}

void ProgramAnswer::restore(std::string text) {
  before_ = std::move(text);
  paragraphs_.note(before_);
  paragraphs_.end_round();
}

}  // namespace sluice::programs
