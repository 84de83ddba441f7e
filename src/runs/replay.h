// What a resumed run has emitted before, and must not emit again.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace sluice::runs {

class Replay {
 public:
  Replay() = default;
  Replay(std::string told_text, std::string told_reasoning)
      : text_{std::move(told_text)}, reasoning_{std::move(told_reasoning)} {}

  // The part of `delta` that was not emitted before; none at all when the model does not say again
  // what it said.
  std::optional<std::string_view> text(std::string_view delta) { return text_.skip(delta); }
  std::optional<std::string_view> reasoning(std::string_view delta) { return reasoning_.skip(delta); }

  // The model has said again everything that was emitted before.
  bool is_over() const { return text_.is_over() && reasoning_.is_over(); }

 private:
  struct StepEvent {
    std::string bytes;
    std::size_t heard = 0;

    bool is_over() const { return heard == bytes.size(); }
    std::optional<std::string_view> skip(std::string_view delta) {
      const std::size_t known = std::min(delta.size(), bytes.size() - heard);
      if (bytes.compare(heard, known, delta.substr(0, known)) != 0) return std::nullopt;
      heard += known;
      return delta.substr(known);
    }
  };
  StepEvent text_;
  StepEvent reasoning_;
};

}  // namespace sluice::runs
