// A block that is one HTTP request.
#include <strings.h>

#include <algorithm>

#include "base/bytes.h"
#include "base/lifetime.h"
#include "base/limits.h"
#include "flow/block_work.h"

namespace sluice::flow {
namespace {

constexpr std::size_t url_bytes_max = 8 * 1024;
constexpr std::size_t header_value_bytes_max = 8 * 1024;

// What the rules are about: the URL up to its query. An escape stands for one character that is no border of anything;
// one that could be a border is doubtful, and then nothing is allowed.
std::optional<std::string> place_of(std::string_view url) {
  const auto query = url.find('?');
  for (const char c : url.substr(std::min(query, url.size()))) {
    if (c <= ' ' || c == '\x7f' || c == '#' || c == '\\') return std::nullopt;
  }
  std::string place(url.substr(0, query));
  for (std::size_t at = 0; (at = place.find('%', at)) != std::string::npos; ++at) {
    const auto decoded = net::percent_decode(std::string_view(place).substr(at, 3));
    if (!decoded || decoded->size() != 1 ||
        std::string_view("/\\.@?#%:").find((*decoded)[0]) != std::string_view::npos ||
        ((*decoded)[0] >= 0 && (*decoded)[0] < ' ')) {
      return std::nullopt;
    }
    place.replace(at, 3, "x");
  }
  return place;
}

void append_json(json::Writer& writer, const JsonTemplate& json, const Task& task, std::optional<Error>& fault) {
  using enum JsonTemplate::Kind;
  switch (json.kind) {
    case literal: writer.raw(json.literal); return;
    case words: {
      const auto rendered = task.words(json.words, limits::message_content_bytes_max);
      if (!rendered && !fault) fault = rendered.error();
      writer.string(rendered ? rendered.value() : "");
      return;
    }
    case list:
      writer.begin_array();
      for (const auto& element : json.inner) append_json(writer, element, task, fault);
      writer.end_array();
      return;
    case object:
      writer.begin_object();
      for (std::size_t i = 0; i < json.inner.size(); ++i) {
        append_json(writer.key_escaped(json.names[i]), json.inner[i], task, fault);
      }
      writer.end_object();
  }
}

class HttpWork final : public BlockWork, private net::CallListener {
 public:
  HttpWork(const FlowNeeds& needs, const FlowOptions& options, const Task& task, BlockListener& listener)
      : needs_(needs), options_(options), task_(task), listener_(listener) {
    needs_.loop.defer(lifetime_.guard([this] { begin(); }));
  }

  void cancel() override {
    if (std::exchange(ended_, true)) return;
    call_.reset();
    needs_.loop.defer(lifetime_.guard([this] { listener_.on_block_ended({}, was_cancelled()); }));
  }
  void drain() override {}

 private:
  const HttpBlock& block() const { return std::get<HttpBlock>(task_.what().what); }

  void begin() {
    if (ended_) return;
    if (!task_.is_fresh && !block().is_idempotent) {
      return fail("outcome-unknown",
                  "The server restarted while the request was under way; whether it was carried out is not known, and "
                  "it is not said to be idempotent, so it is not made again.");
    }
    net::ClientRequest request;
    if (auto fault = fill(request)) return fail("template-failed", "The request cannot be made: " + fault->what + ".");
    const auto place = place_of(request.url);
    const auto reach = place ? net::reach_of(*place, options_.http_urls) : net::Reach::nowhere;
    if (reach == net::Reach::nowhere || !net::is_plain_url(*place)) {
      return fail("http-not-allowed", "This server may not be had to call " + request.url +
                                          ": its setting workflows.http_urls has the URLs that workflows may call.");
    }
    request.public_addresses_only = reach == net::Reach::public_addresses;
    call_ = needs_.client.call(std::move(request), *this);
  }

  std::optional<Error> fill(net::ClientRequest& request) {
    request.method = block().method;
    auto url = task_.words(block().url, url_bytes_max, Writing::url);
    if (!url) return url.error();
    request.url = std::move(url).take();
    bool has_type = false;
    for (const auto& [name, words] : block().headers) {
      const auto value = task_.words(words, header_value_bytes_max);
      if (!value) return value.error();
      // The name was looked at when the workflow was kept.
      if (const auto fault = net::fault_of_header("X", value.value()); !fault.empty()) {
        return Error{ErrorKind::invalid, "the header " + name + " " + std::string(fault)};
      }
      has_type = has_type || (name.size() == 12 && strncasecmp(name.c_str(), "content-type", 12) == 0);
      request.headers.add(name, value.value());
    }
    request.headers.add("Idempotency-Key", task_.run.id.text() + ":" + task_.what().id);
    if (auto fault = fill_body(request, has_type)) return fault;
    request.total_ms_max = block().timeout_seconds * 1000;
    request.idle_ms_max = request.total_ms_max;
    return std::nullopt;
  }

  std::optional<Error> fill_body(net::ClientRequest& request, bool has_type) const {
    if (const auto* words = std::get_if<Template>(&block().body)) {
      auto text = task_.words(*words, limits::message_content_bytes_max);
      if (!text) return text.error();
      request.body = std::move(text).take();
      if (!has_type) request.headers.add("Content-Type", "text/plain; charset=utf-8");
    } else if (const auto* json = std::get_if<JsonTemplate>(&block().body)) {
      std::optional<Error> fault;
      json::Writer writer(request.body);
      append_json(writer, *json, task_, fault);
      if (fault) return fault;
      if (!has_type) request.headers.add("Content-Type", "application/json");
    }
    return std::nullopt;
  }

  void on_head(int status, const net::Headers&) override { status_ = status; }

  void on_body(std::string_view bytes) override {
    body_ += bytes;
    if (body_.size() <= limits::http_block_answer_bytes_max) return;
    end();  // the rest is not wanted
  }

  void on_end(net::CallEnd end_of_call) override {
    if (end_of_call.failure) {
      return fail("http-failed", "The request failed: " + end_of_call.what);
    }
    end();
  }

  void end() {
    if (std::exchange(ended_, true)) return;
    needs_.loop.defer(lifetime_.guard([this] {
      call_.reset();
      report();
    }));
  }

  void report() {
    std::optional<model::WorkflowError> error;
    if (status_ >= 300 || status_ < 200) {
      error = model::WorkflowError{"http-status", "The server answered " + std::to_string(status_) + "."};
    }
    auto outputs = outputs_of(std::move(body_));
    if (!is_utf8(*outputs.response)) {
      outputs.response = "";
      if (!error) error = model::WorkflowError{"http-failed", "The server's answer is not text in UTF-8."};
    }
    outputs.status = status_;
    listener_.on_block_ended(std::move(outputs), std::move(error));
  }

  void fail(std::string code, std::string message) {
    if (std::exchange(ended_, true)) return;
    needs_.loop.defer(lifetime_.guard([this, error = model::WorkflowError{std::move(code), std::move(message)}] {
      call_.reset();
      listener_.on_block_ended({}, error);
    }));
  }

  const FlowNeeds& needs_;
  const FlowOptions& options_;
  const Task task_;
  BlockListener& listener_;
  std::unique_ptr<net::Call> call_;
  int status_ = 0;
  std::string body_;
  bool ended_ = false;
  Lifetime lifetime_;
};

}  // namespace

std::unique_ptr<BlockWork> make_http_work(const FlowNeeds& needs, const FlowOptions& options, const Task& task,
                                          BlockListener& listener) {
  return std::make_unique<HttpWork>(needs, options, task, listener);
}

}  // namespace sluice::flow
