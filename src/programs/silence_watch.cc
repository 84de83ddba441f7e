#include "programs/silence_watch.h"

#include <algorithm>
#include <utility>

namespace sluice::programs {

using model::Slug;

void SilenceWatch::begin() {
  started_us_ = loop_.monotonic_us();
  heard_us_ = 0;
  watch();
}

void SilenceWatch::go_on() {
  hear();
  watch();
}

int64_t SilenceWatch::silent_ms() const { return (loop_.monotonic_us() - std::max(started_us_, heard_us_)) / 1000; }

void SilenceWatch::watch() {
  const auto silent = silent_ms();
  auto left_ms = (heard_us_ == 0 ? options_.start_ms_max : options_.silence_ms_max) - silent;
  if (left_ms <= 0) left_ms = options_.tool_silence_ms_max - silent;  // a tool is running
  // It may say its first word, or its tool may end, before the next look: that is not later than it would be then.
  left_ms = std::clamp<int64_t>(left_ms, 1, options_.silence_ms_max);
  timer_ = loop_.after(Millis{left_ms}, [this] { look(); });
}

void SilenceWatch::look() {
  const auto name = "The agent program " + program_;
  const auto said_nothing_for = [&](int64_t ms) {
    return name + " said nothing for " + std::to_string(ms / 1000) + " s";
  };
  const auto silent = silent_ms();
  if (heard_us_ == 0 && silent >= options_.start_ms_max) {
    return hangs_(Slug::agent_failed,
                  name + " said nothing within " + std::to_string(options_.start_ms_max / 1000) + " s of its start.");
  }
  if (heard_us_ == 0 || silent < options_.silence_ms_max) return watch();
  const auto reason = reason_();
  if (reason.waits_for_us) {
    hear();
  } else if (!reason.tool_is_running) {
    return hangs_(Slug::model_timeout,
                  said_nothing_for(options_.silence_ms_max) + ", and no tool was running: its model may hang.");
  } else if (silent >= options_.tool_silence_ms_max) {
    return hangs_(Slug::agent_failed, said_nothing_for(options_.tool_silence_ms_max) + " while its tool " +
                                          reason.tool + "was running: one of them may hang.");
  }
  watch();
}

}  // namespace sluice::programs
