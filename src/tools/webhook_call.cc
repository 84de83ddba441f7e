#include <algorithm>
#include <string>
#include <utility>

#include "base/json.h"
#include "runs/runs.h"
#include "tools/host_call_output.h"
#include "tools/http_answer.h"

namespace sluice::tools {
namespace {

constexpr std::string_view unknown_outcome = "Whether it did its work is unknown, and it is not called again.";

std::string body_of(const dispatch::Dispatch& dispatch, const models::ToolCall& call, std::string_view step_id) {
  std::string body;
  json::Writer writer(body);
  writer.begin_object().key("object").string("tool_call").key("id").string(step_id);
  writer.key("run_id").string(dispatch.run.text()).key("conversation_id").string(dispatch.conversation.text());
  writer.key("agent_id").string(dispatch.agent.id.text()).key("name").string(call.name);
  writer.key("arguments").raw(call.arguments).end_object();
  return body;
}

// Text as it is; anything else as JSON.
std::string text_of(json::Value value) {
  const auto text = value.string();
  return text ? std::string(*text) : value.to_text();
}

runs::ToolAnswer answer_in(std::string body) {
  const auto document = json::Document::parse(body);
  if (!document) return {.text = std::move(body)};
  const auto root = document.value().root();
  if (const auto result = root.find("result")) return {.text = text_of(*result)};
  if (const auto error = root.find("error"); error && error->string()) return {text_of(*error), true};
  return {.text = text_of(root)};
}

class WebhookCall final : public HostCall, private net::CallListener {
 public:
  WebhookCall(const Context& context, const dispatch::Dispatch& dispatch, const model::WebhookTool& tool,
              const models::ToolCall& call, std::string_view step_id, HostCallListener& listener)
      : who_("The tool " + tool.tool.name),
        timeout_seconds_(tool.timeout_seconds),
        bytes_max_(static_cast<std::size_t>(context.options.tool_answer_bytes_max)),
        output_(context, dispatch.secrets, listener) {
    const auto reach = net::reach_of(tool.url, context.options.tool_urls);
    if (reach == net::Reach::nowhere) {
      context.loop.defer(lifetime_.guard([this] {
        fail(" was not called: this server calls tools only at the URLs that its configuration names (tools.urls).");
      }));
      return;
    }
    net::ClientRequest request{.method = "POST",
                               .url = tool.url,
                               .body = body_of(dispatch, call, step_id),
                               .public_addresses_only = reach == net::Reach::public_addresses,
                               .connect_ms_max = timeout_seconds_ * 1000,
                               .idle_ms_max = timeout_seconds_ * 1000,
                               .total_ms_max = timeout_seconds_ * 1000};
    request.headers.add("Content-Type", "application/json");
    request.headers.add("Accept", "application/json, application/x-ndjson");
    if (!dispatch.traceparent.empty()) request.headers.add("traceparent", dispatch.traceparent);
    // Signed as it is sent: the tenant's server can tell our calls from those of others.
    for (const auto& [name, value] : context.sign_webhook(dispatch.agent.tenant_id, request.body, context.loop.now())) {
      request.headers.add(name, value);
    }
    call_ = context.client.call(std::move(request), *this);
  }

 private:
  void on_head(int status, const net::Headers& headers) override {
    status_ = status;
    is_lines_ = !is_refusal() && media_type_of(headers) == "application/x-ndjson";
  }

  void on_body(std::string_view bytes) override {
    bytes_ += bytes.size();
    if (bytes_ > bytes_max_) {
      if (is_refusal()) return;  // its first words are enough
      return fail(" answered with more than " + std::to_string(bytes_max_) + " bytes. " + std::string(unknown_outcome));
    }
    if (!is_lines_) {
      body_.append(bytes);
      return;
    }
    const auto alive = lifetime_.watch();
    for (const auto& line : lines_.feed(bytes)) {
      take_line(line);
      if (alive.is_over() || is_over_) return;
    }
  }

  void on_end(net::CallEnd end) override {
    if (end.failure) return fail(words_of(end));
    if (is_refusal()) return fail(" answered with " + status_words(status_, body_) + ".");
    if (!is_lines_) return finish(answer_in(std::move(body_)));
    const auto alive = lifetime_.watch();
    for (const auto& line : lines_.end()) take_line(line);
    if (alive.is_over() || is_over_) return;
    fail("'s answer ended without a result. " + std::string(unknown_outcome));
  }

  void take_line(const std::string& line) {
    const auto document = json::Document::parse(line);
    if (!document)
      return fail("'s answer has a line that is " + document.error().what + ". " + std::string(unknown_outcome));
    const auto root = document.value().root();
    const auto word = [&](std::string_view name) { return root.find(name).value_or(json::Value()); };
    const auto type = word("type").string().value_or("");
    if (type == "custom" && word("name").string()) {
      output_.custom(*word("name").string(), word("value").to_text());
    } else if (type == "output") {
      output_.output(std::string(word("text").string().value_or("")));
    } else if (type == "result") {
      finish({.text = text_of(word("result"))});
    } else if (type == "error") {
      finish({.text = text_of(word("error")), .failed = true});
    }
  }

  std::string words_of(const net::CallEnd& end) const {
    switch (*end.failure) {
      case net::CallFailure::unreachable: return " could not be reached: " + end.what;
      case net::CallFailure::refused: return " could not be called: " + end.what;
      case net::CallFailure::timed_out:
        return " did not answer within " + std::to_string(timeout_seconds_) + " s. " + std::string(unknown_outcome);
      case net::CallFailure::cut: break;
    }
    return "'s answer broke off (" + end.what + "), its outcome unknown. It is not called again.";
  }

  bool is_refusal() const { return status_ / 100 != 2; }
  void fail(const std::string& what) { finish({.text = who_ + what, .failed = true}); }

  // What comes after it is ignored.
  void finish(runs::ToolAnswer answer) {
    is_over_ = true;
    // Before the listener is called, which may drop this.
    call_.reset();
    output_.answer(std::move(answer));
  }

  const std::string who_;
  const int64_t timeout_seconds_;
  const std::size_t bytes_max_;
  HostCallOutput output_;
  int status_ = 0;
  bool is_lines_ = false;
  bool is_over_ = false;
  std::size_t bytes_ = 0;
  std::string body_;
  runs::TextLines lines_;
  Lifetime lifetime_;
  std::unique_ptr<net::Call> call_;
};

}  // namespace

std::unique_ptr<HostCall> call_webhook(const Context& context, const dispatch::Dispatch& dispatch,
                                       const model::WebhookTool& tool, const models::ToolCall& call,
                                       std::string_view step_id, HostCallListener& listener) {
  return std::make_unique<WebhookCall>(context, dispatch, tool, call, step_id, listener);
}

}  // namespace sluice::tools
