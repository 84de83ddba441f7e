// Anthropic Messages: POST /v1/messages with "stream": true.
#include "base/json.h"
#include "models/answer.h"
#include "models/dialects.h"
#include "models/failure.h"

namespace sluice::models {
namespace {

class Fold final : public EventFold {
 public:
  void take(json::Value event, Answer& answer) override {
    const auto type = string_at(event, {"type"});
    if (type == "content_block_delta") {
      take_delta(event, answer);
    } else if (type == "content_block_start") {
      take_block(event, answer);
    } else if (type == "message_start") {
      take_usage(at(event, {"message", "usage"}));
    } else if (type == "message_delta") {
      take_usage(at(event, {"usage"}));
      take_stop_reason(string_at(event, {"delta", "stop_reason"}), answer);
    } else if (type == "message_stop") {
      finish(answer);
    } else if (type == "error") {
      const auto error = read_error(at(event, {"error"}));
      answer.fail(error.failure_class.value_or(FailureClass::server_error), error.what);
    }
  }

  void take_end(End, Answer& answer) override {
    answer.fail(FailureClass::cut, "the answer broke off before it was complete");
  }

 private:
  void take_block(json::Value event, Answer& answer) {
    const auto block = at(event, {"content_block"});
    const auto type = string_at(block, {"type"});
    if (type == "text") answer.text(string_at(block, {"text"}));
    if (type == "thinking") answer.reasoning(string_at(block, {"thinking"}));
    if (type == "tool_use") {
      calls_.begin(integer_at(event, {"index"}), string_at(block, {"id"}), string_at(block, {"name"}), answer);
    }
  }

  void take_delta(json::Value event, Answer& answer) {
    const auto delta = at(event, {"delta"});
    const auto type = string_at(delta, {"type"});
    if (type == "text_delta") answer.text(string_at(delta, {"text"}));
    if (type == "thinking_delta") answer.reasoning(string_at(delta, {"thinking"}));
    if (type == "input_json_delta") {
      if (auto* call = calls_.find(integer_at(event, {"index"}))) {
        calls_.append(*call, string_at(delta, {"partial_json"}), answer);
      }
    }
  }

  // The counts are of the whole answer so far; message_delta may repeat those of message_start.
  void take_usage(json::Value usage) {
    if (at(usage, {"input_tokens"}).integer()) {
      usage_.input_tokens = count_at(usage, {"input_tokens"}) + count_at(usage, {"cache_creation_input_tokens"}) +
                            count_at(usage, {"cache_read_input_tokens"});
    }
    if (at(usage, {"output_tokens"}).integer()) usage_.output_tokens = count_at(usage, {"output_tokens"});
  }

  void take_stop_reason(std::string_view reason, Answer& answer) {
    if (reason == "refusal") answer.fail(FailureClass::rejected, "the model refused to answer");
    if (reason == "max_tokens" || reason == "model_context_window_exceeded") truncated_ = Truncated::yes;
  }

  void finish(Answer& answer) {
    calls_.tell(truncated_, answer);
    answer.usage(usage_);
    answer.stop();
  }

  CallList calls_;
  model::Usage usage_;
  Truncated truncated_ = Truncated::no;
};

void write_text(json::Writer& writer, std::string_view text) {
  // The provider refuses empty blocks.
  if (text.empty()) return;
  writer.begin_object().key("type").string("text").key("text").string(text).end_object();
}

void write_turn(json::Writer& writer, const PromptTurn& turn) {
  if (turn.text.empty() && turn.calls.empty() && turn.results.empty()) return;
  writer.begin_object().key("role").string(turn.role == model::Role::assistant ? "assistant" : "user");
  writer.key("content").begin_array();
  for (const auto& result : turn.results) {
    writer.begin_object().key("type").string("tool_result").key("tool_use_id").string(result.call_id);
    writer.key("content").string(result.text);
    if (result.failed) writer.key("is_error").boolean(true);
    writer.end_object();
  }
  write_text(writer, turn.text);
  for (const auto& call : turn.calls) {
    writer.begin_object().key("type").string("tool_use").key("id").string(call.id).key("name").string(call.name);
    writer.key("input").raw(call.arguments).end_object();
  }
  writer.end_array().end_object();
}

void write_tools(json::Writer& writer, const std::vector<ToolSpec>& tools) {
  if (tools.empty()) return;
  writer.key("tools").begin_array();
  for (const auto& tool : tools) {
    writer.begin_object().key("name").string(tool.name).key("description").string(tool.description);
    writer.key("input_schema").raw(tool.parameters).end_object();
  }
  writer.end_array();
}

// The system prompt has a place of its own here, so a system turn goes there too.
std::string system_of(const Prompt& prompt) {
  auto system = prompt.system;
  for (const auto& turn : prompt.turns) {
    if (turn.role != model::Role::system || turn.text.empty()) continue;
    if (!system.empty()) system += "\n\n";
    system += turn.text;
  }
  return system;
}

class Anthropic final : public Dialect {
 public:
  std::string_view name() const override { return "anthropic"; }
  std::string_view default_base_url() const override { return "https://api.anthropic.com"; }
  std::string_view key_variable() const override { return "ANTHROPIC_API_KEY"; }

  ProviderRequest request(const Endpoint& endpoint, const Prompt& prompt) const override {
    ProviderRequest out;
    out.url = endpoint.base_url + "/v1/messages";
    out.headers = {
        {"content-type", "application/json"}, {"accept", "text/event-stream"}, {"anthropic-version", "2023-06-01"}};
    if (!endpoint.api_key.empty()) out.headers.emplace_back("x-api-key", endpoint.api_key);

    json::Writer writer(out.body);
    writer.begin_object().key("model").string(prompt.model);
    writer.key("max_tokens").integer(prompt.max_output_tokens).key("stream").boolean(true);
    if (const auto system = system_of(prompt); !system.empty()) writer.key("system").string(system);
    write_tools(writer, prompt.tools);
    writer.key("messages").begin_array();
    for (const auto& turn : prompt.turns) {
      if (turn.role != model::Role::system) write_turn(writer, turn);
    }
    writer.end_array().end_object();
    return out;
  }

  std::unique_ptr<AnswerReader> reader() const override { return make_reader(std::make_unique<Fold>()); }

  Failure failure(int status, std::optional<std::string_view> retry_after, std::string_view body) const override {
    return body_failure(status, retry_after, body);
  }
};

}  // namespace

const Dialect& anthropic_dialect() {
  [[clang::no_destroy]] static constexpr Anthropic dialect;
  return dialect;
}

}  // namespace sluice::models
