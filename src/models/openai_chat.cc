// OpenAI Chat Completions: POST /chat/completions with "stream": true, as OpenAI speaks it and as
// vLLM, Ollama, llama.cpp and others do, who leave pieces out.
#include "base/json.h"
#include "models/answer.h"
#include "models/dialects.h"
#include "models/failure.h"

namespace sluice::models {
namespace {

class Fold final : public EventFold {
 public:
  void take(json::Value chunk, Answer& answer) override {
    if (const auto error = chunk.find("error"); error && !error->is_null()) return fail(*error, answer);
    if (string_at(chunk, {"object"}) == "error") return fail(chunk, answer);

    chunk.find("choices").value_or(json::Value()).each_element([&](json::Value choice) {
      // Only one was asked for.
      if (integer_at(choice, {"index"}) == 0) take_choice(choice, answer);
    });
    // Some send the count so far with every chunk; only that of the finished answer is reported.
    if (const auto usage = at(chunk, {"usage"}); finished_ && usage.kind() == json::Kind::object) {
      answer.usage({count_at(usage, {"prompt_tokens"}), count_at(usage, {"completion_tokens"})});
    }
  }

  // A server that leaves out [DONE] has said finish_reason; one that leaves out that has said [DONE].
  void take_end(End end, Answer& answer) override {
    if (end == End::bytes_ended && !finished_) {
      return answer.fail(FailureClass::cut, "the answer broke off before it was complete");
    }
    if (!finished_) finish("stop", answer);
    answer.stop();
  }

 private:
  static void fail(json::Value reason, Answer& answer) {
    const auto error = read_error(reason);
    answer.fail(error.failure_class.value_or(FailureClass::server_error), error.what);
  }

  void take_choice(json::Value choice, Answer& answer) {
    const auto delta = at(choice, {"delta"});
    const auto reasoning = string_at(delta, {"reasoning_content"});
    answer.reasoning(reasoning.empty() ? string_at(delta, {"reasoning"}) : reasoning);
    answer.text(string_at(delta, {"content"}));
    refused_ = refused_ || !string_at(delta, {"refusal"}).empty();
    at(delta, {"tool_calls"}).each_element([&](json::Value piece) { take_call(piece, answer); });
    if (const auto reason = string_at(choice, {"finish_reason"}); !reason.empty()) finish(reason, answer);
  }

  // A call begins with its id; the pieces that follow have only the index. Some servers give every
  // call the index 0, or none at all.
  void take_call(json::Value piece, Answer& answer) {
    const auto index = integer_at(piece, {"index"});
    const auto id = string_at(piece, {"id"});
    auto* call = calls_.find(index);
    if (call == nullptr || (!id.empty() && !call->id.empty() && id != call->id)) {
      call = calls_.begin(index, id, string_at(piece, {"function", "name"}), answer);
      if (call == nullptr) return;
    }
    const auto arguments = at(piece, {"function", "arguments"});
    if (arguments.kind() == json::Kind::object) return calls_.append(*call, arguments.to_text(), answer);
    calls_.append(*call, arguments.string().value_or(std::string_view()), answer);
  }

  void finish(std::string_view reason, Answer& answer) {
    finished_ = true;
    if (refused_) answer.fail(FailureClass::rejected, "the model refused to answer");
    if (reason == "content_filter") {
      answer.fail(FailureClass::rejected, "the provider's content filter stopped the answer");
    }
    if (reason == "error") answer.fail(FailureClass::server_error, "the provider stopped with an error");
    calls_.tell(reason == "length" ? Truncated::yes : Truncated::no, answer);
  }

  CallList calls_;
  bool finished_ = false;
  bool refused_ = false;
};

void write_message(json::Writer& writer, const PromptTurn& turn) {
  if (turn.text.empty() && turn.calls.empty()) return;
  writer.begin_object().key("role").string(openai_role(turn.role)).key("content");
  turn.text.empty() ? writer.null() : writer.string(turn.text);
  if (!turn.calls.empty()) {
    writer.key("tool_calls").begin_array();
    for (const auto& call : turn.calls) {
      writer.begin_object().key("id").string(call.id).key("type").string("function").key("function").begin_object();
      writer.key("name").string(call.name).key("arguments").string(call.arguments).end_object().end_object();
    }
    writer.end_array();
  }
  writer.end_object();
}

void write_turn(json::Writer& writer, const PromptTurn& turn) {
  for (const auto& result : turn.results) {
    writer.begin_object().key("role").string("tool").key("tool_call_id").string(result.call_id);
    writer.key("content").string(result.text).end_object();
  }
  write_message(writer, turn);
}

void write_tools(json::Writer& writer, const std::vector<ToolSpec>& tools) {
  if (tools.empty()) return;
  writer.key("tools").begin_array();
  for (const auto& tool : tools) {
    writer.begin_object().key("type").string("function").key("function").begin_object();
    writer.key("name").string(tool.name).key("description").string(tool.description);
    writer.key("parameters").raw(tool.parameters).end_object().end_object();
  }
  writer.end_array();
}

class OpenaiChat final : public Dialect {
 public:
  std::string_view name() const override { return "openai-chat"; }
  std::string_view default_base_url() const override { return "https://api.openai.com/v1"; }
  std::string_view key_variable() const override { return "OPENAI_API_KEY"; }

  ProviderRequest request(const Endpoint& endpoint, const Prompt& prompt) const override {
    ProviderRequest out{endpoint.base_url + "/chat/completions", openai_headers(endpoint), {}};
    json::Writer writer(out.body);
    writer.begin_object().key("model").string(prompt.model);
    writer.key("max_completion_tokens").integer(prompt.max_output_tokens).key("stream").boolean(true);
    writer.key("stream_options").begin_object().key("include_usage").boolean(true).end_object();
    write_tools(writer, prompt.tools);
    writer.key("messages").begin_array();
    if (!prompt.system.empty()) write_message(writer, {.role = model::Role::system, .text = prompt.system});
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

const Dialect& openai_chat_dialect() {
  [[clang::no_destroy]] static constexpr OpenaiChat dialect;
  return dialect;
}

}  // namespace sluice::models
