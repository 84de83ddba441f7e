// One answer of a model, in progress: over HTTP from a provider, or from the offline model. The
// listener cannot see which.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "inference/options.h"
#include "inference/providers.h"
#include "model/model.h"
#include "models/models.h"
#include "net/net.h"
#include "runs/runs.h"
#include "world/world.h"

namespace sluice::inference {

struct ModelFailure {
  std::string_view failure_class;
  model::Slug slug;
  std::string what;
  bool may_retry = false;
  std::optional<int64_t> retry_after_ms;
};

ModelFailure model_failure_of(const Route& route, const models::Failure& failure);
ModelFailure model_failure_of(const Route& route, net::CallFailure failure, std::string_view what);

// Words from outside, for a JSON string and for a person.
std::string_view readable(std::string_view words);

class ModelCallListener {
 public:
  virtual ~ModelCallListener() = default;
  // In order; `stop` or `failure` is the last.
  virtual void on_model_event(models::ModelEvent event) = 0;
  // Instead of a last event: there is no answer, or no more of it. Never `cut`, which is a failure
  // event like any other of the provider.
  virtual void on_unanswered(net::CallFailure failure, std::string what) = 0;
};

// Dropping it ends it, also inside a callback: the listener hears nothing more.
class ModelCall {
 public:
  virtual ~ModelCall() = default;
};

struct ModelQuestion {
  const Route& route;
  const models::Prompt& prompt;
  std::string_view traceparent;  // empty: none
  int64_t idle_ms_max;
  int64_t total_ms_max;
  const runs::Replay* replay = nullptr;  // outlives the call. Until it is over, the offline model does not wait.
};

// `context` and `listener` must outlive the call. No callback comes from inside ask_model().
[[nodiscard]] std::unique_ptr<ModelCall> ask_model(const Context& context, const ModelQuestion& question,
                                                   ModelCallListener& listener);

// "rate_limited" …, as the figures spell it.
std::string_view name_of(models::FailureClass failure);
std::string_view name_of(net::CallFailure failure);

}  // namespace sluice::inference
