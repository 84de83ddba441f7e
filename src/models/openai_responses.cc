// OpenAI Responses: POST /responses with "stream": true.
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
    if (type == "response.output_text.delta") {
      answer.text(string_at(event, {"delta"}));
    } else if (type == "response.reasoning_summary_text.delta" || type == "response.reasoning_text.delta") {
      answer.reasoning(string_at(event, {"delta"}));
    } else if (type == "response.reasoning_summary_part.added") {
      if (integer_at(event, {"summary_index"}) > 0) answer.reasoning("\n\n");
    } else if (type == "response.output_item.added" || type == "response.output_item.done") {
      take_item(event, answer);
    } else if (type.starts_with("response.function_call_arguments.")) {
      take_arguments(event, answer);
    } else if (type == "response.refusal.done") {
      answer.fail(FailureClass::rejected, "the model refused: " + std::string(string_at(event, {"refusal"})));
    } else {
      take_ending(type, event, answer);
    }
  }

  void take_end(End, Answer& answer) override {
    answer.fail(FailureClass::cut, "the answer broke off before it was complete");
  }

 private:
  // Added without arguments, done with all of them.
  void take_item(json::Value event, Answer& answer) {
    const auto item = at(event, {"item"});
    if (string_at(item, {"type"}) != "function_call") return;
    const auto index = integer_at(event, {"output_index"});
    auto* call = calls_.find(index);
    if (call == nullptr) call = calls_.begin(index, string_at(item, {"call_id"}), string_at(item, {"name"}), answer);
    if (call != nullptr) replace_arguments(*call, string_at(item, {"arguments"}), answer);
  }

  void take_arguments(json::Value event, Answer& answer) {
    auto* call = calls_.find(integer_at(event, {"output_index"}));
    if (call == nullptr) return;
    calls_.append(*call, string_at(event, {"delta"}), answer);
    replace_arguments(*call, string_at(event, {"arguments"}), answer);
  }

  void replace_arguments(ToolCall& call, std::string_view arguments, Answer& answer) {
    if (arguments.empty() || arguments == call.arguments) return;
    call.arguments.clear();
    calls_.append(call, arguments, answer);
  }

  void take_ending(std::string_view type, json::Value event, Answer& answer) {
    if (type == "response.completed") {
      finish(event, Truncated::no, answer);
    } else if (type == "response.incomplete") {
      if (string_at(event, {"response", "incomplete_details", "reason"}) == "content_filter") {
        answer.fail(FailureClass::rejected, "the provider's content filter stopped the answer");
      }
      finish(event, Truncated::yes, answer);
    } else if (type == "response.failed") {
      fail(at(event, {"response", "error"}), answer);
    } else if (type == "error") {
      const auto nested = event.find("error");
      fail(nested && !nested->is_null() ? *nested : event, answer);
    }
  }

  // An error without a known code is the provider's own trouble: bad requests never get a stream.
  static void fail(json::Value reason, Answer& answer) {
    const auto error = read_error(reason);
    answer.fail(error.failure_class.value_or(FailureClass::server_error), error.what);
  }

  void finish(json::Value event, Truncated truncated, Answer& answer) {
    calls_.tell(truncated, answer);
    const auto usage = at(event, {"response", "usage"});
    answer.usage(
        {.input_tokens = count_at(usage, {"input_tokens"}), .output_tokens = count_at(usage, {"output_tokens"})});
    answer.stop();
  }

  CallList calls_;
};

void write_message(json::Writer& writer, std::string_view role, std::string_view text) {
  if (text.empty()) return;
  writer.begin_object().key("role").string(role).key("content").string(text).end_object();
}

void write_turn(json::Writer& writer, const PromptTurn& turn) {
  for (const auto& result : turn.results) {
    writer.begin_object().key("type").string("function_call_output").key("call_id").string(result.call_id);
    writer.key("output").string(result.text).end_object();
  }
  write_message(writer, openai_role(turn.role), turn.text);
  for (const auto& call : turn.calls) {
    writer.begin_object().key("type").string("function_call").key("call_id").string(call.id);
    writer.key("name").string(call.name).key("arguments").string(call.arguments).end_object();
  }
}

void write_tools(json::Writer& writer, const std::vector<ToolSpec>& tools) {
  if (tools.empty()) return;
  writer.key("tools").begin_array();
  for (const auto& tool : tools) {
    writer.begin_object().key("type").string("function").key("name").string(tool.name);
    writer.key("description").string(tool.description).key("parameters").raw(tool.parameters);
    // Strict mode, the default here, would have every argument be required.
    writer.key("strict").boolean(false).end_object();
  }
  writer.end_array();
}

class OpenaiResponses final : public Dialect {
 public:
  std::string_view name() const override { return "openai-responses"; }
  std::string_view default_base_url() const override { return "https://api.openai.com/v1"; }
  std::string_view key_variable() const override { return "OPENAI_API_KEY"; }

  ProviderRequest request(const Endpoint& endpoint, const Prompt& prompt) const override {
    ProviderRequest out{endpoint.base_url + "/responses", openai_headers(endpoint), {}};
    json::Writer writer(out.body);
    writer.begin_object().key("model").string(prompt.model);
    writer.key("max_output_tokens").integer(prompt.max_output_tokens);
    // The journal keeps the dialogue; the provider need not.
    writer.key("stream").boolean(true).key("store").boolean(false);
    if (!prompt.system.empty()) writer.key("instructions").string(prompt.system);
    write_tools(writer, prompt.tools);
    writer.key("input").begin_array();
    for (const auto& turn : prompt.turns) write_turn(writer, turn);
    writer.end_array().end_object();
    return out;
  }

  std::unique_ptr<AnswerReader> reader() const override { return make_reader(std::make_unique<Fold>()); }

  Failure failure(int status, std::optional<std::string_view> retry_after, std::string_view body) const override {
    return body_failure(status, retry_after, body);
  }
};

}  // namespace

const Dialect& openai_responses_dialect() {
  [[clang::no_destroy]] static constexpr OpenaiResponses dialect;
  return dialect;
}

}  // namespace sluice::models
