// Bridges dead air: while a model is silent, a phrase from time to time (I-11). It knows nothing of
// the answer; its owner drops it when the first real word comes.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/lifetime.h"
#include "inference/model_call.h"
#include "runs/runs.h"
#include "world/world.h"

namespace sluice::inference {

class FillerListener {
 public:
  virtual ~FillerListener() = default;
  virtual void on_filler(std::string text) = 0;
  // The small model could not be asked; from here on there are phrases.
  virtual void on_filler_trouble(std::string what) = 0;
};

class Filler final : private ModelCallListener {
 public:
  struct Setting {
    std::string_view message;  // what the user said
    std::string traceparent;
    int64_t phrase_count = 0;  // of those emitted before
  };
  // `context` and `listener` must outlive this.
  Filler(const Context& context, Setting setting, FillerListener& listener);

  // A phrase has begun and lacks its end.
  bool is_mid_phrase() const { return is_mid_phrase_; }
  int64_t phrase_count() const { return phrase_count_; }

 private:
  void on_model_event(models::ModelEvent event) override;
  void on_unanswered(net::CallFailure failure, std::string what) override;

  void wait(int64_t ms);
  void begin_phrase();
  void ask();
  void tell_prepared_phrase();
  void end_phrase();
  void give_up_model(std::string_view failure_class, std::string what);

  const Context& context_;
  const std::string traceparent_;
  FillerListener& listener_;
  models::Prompt prompt_;
  bool uses_model_;
  Route route_;  // when it does
  int64_t phrase_count_ = 0;
  model::Usage usage_;  // of the phrase being made
  std::size_t phrase_bytes_ = 0;
  bool is_mid_phrase_ = false;
  world::Timer timer_;
  std::unique_ptr<ModelCall> call_;
  Lifetime lifetime_;
};

}  // namespace sluice::inference
