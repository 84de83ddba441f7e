#include "harness/answer_text.h"

#include <algorithm>

#include "base/limits.h"
#include "base/utf8.h"

namespace sluice::harness {

void AnswerText::begin() {
  if (repeating_) return;
  before_ += message_.size();
  message_.clear();
}

void AnswerText::add(std::string_view piece, std::vector<Heard>& heard) {
  if (!repeating_) return report(piece, heard);
  const std::string_view old = std::string_view(message_).substr(matched_);
  const auto differs = std::ranges::mismatch(piece, old).in1;
  auto same = static_cast<std::size_t>(differs - piece.begin());
  if (same == piece.size()) {
    matched_ += same;
    return;
  }
  // Both are whole code points up to here, so that a cut inside one lies within this piece.
  while (same > 0 && continues_utf8(piece[same])) --same;
  matched_ += same;
  take_back(heard);
  report(piece.substr(same), heard);
}

void AnswerText::complete(std::vector<Heard>& heard) {
  if (repeating_) take_back(heard);
  begin();
}

void AnswerText::whole(std::string_view text, std::vector<Heard>& heard) {
  again();
  add(text, heard);
  complete(heard);
}

void AnswerText::take_back(std::vector<Heard>& heard) {
  repeating_ = false;
  if (matched_ == message_.size()) return;
  message_.resize(matched_);
  Heard& replaced = heard.emplace_back();
  replaced.kind = Heard::Kind::replaced;
  replaced.kept_bytes = before_ + matched_;
}

void AnswerText::report(std::string_view piece, std::vector<Heard>& heard) {
  if (piece.empty()) return;
  if (message_.size() + piece.size() > limits::answer_bytes_max) begin();  // only so much is remembered
  message_ += piece;
  Heard& text = heard.emplace_back();
  text.kind = Heard::Kind::text;
  text.text = piece;
}

}  // namespace sluice::harness
