// Notices an agent program that hangs: none of them gives up by itself. On the loop's thread.
#pragma once

#include <cstdint>
#include <string>

#include "base/callback.h"
#include "model/model.h"
#include "programs/options.h"
#include "world/world.h"

namespace sluice::programs {

class SilenceWatch {
 public:
  // Why it may be silent.
  struct Reason {
    bool waits_for_us = false;
    bool tool_is_running = false;
    std::string tool;  // its name, with a space after it; may be empty
  };
  // All must outlive this. `hangs` may drop it.
  SilenceWatch(world::Loop& loop, const ProgramOptions& options, std::string program, Callback<Reason()> reason,
               Callback<void(model::Slug, std::string)> hangs)
      : loop_(loop),
        options_(options),
        program_(std::move(program)),
        reason_(std::move(reason)),
        hangs_(std::move(hangs)) {}

  // The program was started.
  void begin();
  void hear() { heard_us_ = loop_.monotonic_us(); }
  // After a pause in which it could say nothing.
  void go_on();
  void stop() { timer_.cancel(); }

 private:
  int64_t silent_ms() const;
  void watch();
  void look();

  world::Loop& loop_;
  const ProgramOptions& options_;
  const std::string program_;
  Callback<Reason()> reason_;
  Callback<void(model::Slug, std::string)> hangs_;
  int64_t started_us_ = 0;
  int64_t heard_us_ = 0;  // 0: nothing yet
  world::Timer timer_;
};

}  // namespace sluice::programs
