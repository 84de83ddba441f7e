// Model providers' dialects: a prompt becomes a request, an answer's bytes become model events.
//
// Pure: no socket, no clock, no retry; `runner` moves the bytes and decides what a failure means
// for the run. Anthropic Messages, OpenAI Responses, OpenAI Chat Completions and `offline`.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "model/model.h"

namespace sluice::models {

struct ToolCall {
  std::string id;
  std::string name;
  std::string arguments;  // JSON object
  bool operator==(const ToolCall&) const = default;
};

struct ToolResult {
  std::string call_id;
  std::string text;
  bool failed = false;
};

// One turn of the dialogue as the model is shown it: user text, assistant text with calls, or results.
struct PromptTurn {
  model::Role role = model::Role::user;
  std::string text;
  std::vector<ToolCall> calls;      // assistant only
  std::vector<ToolResult> results;  // user only; the answers to the calls of the turn before
};

// What the model may call.
struct ToolSpec {
  std::string name;
  std::string description;
  std::string parameters;  // JSON schema of an object
};

struct Prompt {
  std::string model;
  std::string system;  // empty: none
  std::vector<ToolSpec> tools;
  std::vector<PromptTurn> turns;
  int64_t max_output_tokens = 8192;
};

enum class FailureClass : uint8_t {
  rate_limited,  // 429
  overloaded,    // 503, 529, overloaded_error
  server_error,  // other 5xx
  unauthorized,  // 401, 403: the key is wrong
  rejected,      // other 4xx, content filters, context too long: asking again changes nothing
  cut,           // the answer broke off before it was complete
  garbled,       // not this dialect
};
constexpr bool may_retry(FailureClass failure) {
  return failure == FailureClass::rate_limited || failure == FailureClass::overloaded ||
         failure == FailureClass::server_error || failure == FailureClass::cut;
}

struct Failure {
  FailureClass failure_class = FailureClass::garbled;
  std::string what;  // the provider's words, cut to a sane length; never a key
  std::optional<int64_t> retry_after_ms;
};

struct ModelEvent {
  enum class Kind : uint8_t {
    text,       // text
    reasoning,  // text
    tool_call,  // call, complete
    usage,      // usage, of this answer so far
    stop,       // the answer is complete
    failure,    // failure; nothing follows
  };
  Kind kind = Kind::text;
  std::string text;
  ToolCall call;
  model::Usage usage;
  Failure failure;
};

struct Endpoint {
  std::string base_url;  // "https://api.anthropic.com", without a trailing slash
  std::string api_key;   // empty: none is sent
};

struct ProviderRequest {
  std::string url;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
};

// Reads one streamed answer. After `stop` or `failure` nothing more comes out.
class AnswerReader {
 public:
  virtual ~AnswerReader() = default;
  virtual std::vector<ModelEvent> feed(std::string_view bytes) = 0;
  // The bytes ended. A `failure` (cut) if the answer was not complete; a `stop` if only its last
  // mark is missing; nothing if it was over already.
  virtual std::optional<ModelEvent> end() = 0;
};

class Dialect {
 public:
  virtual ~Dialect() = default;
  virtual std::string_view name() const = 0;  // "anthropic"
  virtual std::string_view default_base_url() const = 0;
  virtual std::string_view key_variable() const = 0;  // "ANTHROPIC_API_KEY"
  virtual ProviderRequest request(const Endpoint& endpoint, const Prompt& prompt) const = 0;
  virtual std::unique_ptr<AnswerReader> reader() const = 0;
  // What an answer with an error status means. `retry_after` is the header's value, if there was one.
  virtual Failure failure(int status, std::optional<std::string_view> retry_after, std::string_view body) const = 0;
};

// "anthropic", "openai-responses", "openai-chat"; null for any other name.
const Dialect* find_dialect(std::string_view name);

// ── offline ─────────────────────────────────────────────────────────────────────────────────────
// A deterministic model that needs no network and no key. It works through the lines of the last
// user message (docs/offline-model.md); a tool call ends a round, and the next round goes on after
// the line that made it.
class OfflineAnswer {
 public:
  explicit OfflineAnswer(const Prompt& prompt);
  OfflineAnswer(OfflineAnswer&&) noexcept;
  OfflineAnswer& operator=(OfflineAnswer&&) noexcept;
  ~OfflineAnswer();

  struct Wait {
    int64_t ms;
  };
  struct Hang {};  // says nothing more, for ever
  struct Say {
    ModelEvent event;
  };
  using Step = std::variant<Say, Wait, Hang>;

  // What the model does next; the last is Say{stop} or Say{failure}.
  Step next();

 private:
  class Player;
  std::unique_ptr<Player> player_;
};

}  // namespace sluice::models
