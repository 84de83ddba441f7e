#include "tools/mcp_link.h"

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "runs/runs.h"
#include "tools/host_call_output.h"

namespace sluice::tools {
namespace {

std::string notice_value(std::string_view server, const mcp::FromServer& message) {
  std::string value;
  json::Writer writer(value);
  writer.begin_object().key("server").string(server).key("text").string(message.text);
  if (!message.json.empty()) writer.key("params").raw(message.json);
  writer.end_object();
  return value;
}

// RFC 5424 has eight levels, the trace of a run four.
std::string_view run_level(std::string_view level) {
  if (level == "debug") return "debug";
  if (level == "warning") return "warn";
  const auto is_it = [&](std::string_view one) { return level == one; };
  constexpr std::string_view errors[] = {"error", "critical", "alert", "emergency"};
  return std::ranges::any_of(errors, is_it) ? "error" : "info";
}

}  // namespace

class McpLink::Call final : public HostCall {
 public:
  Call(McpLink& link, uint64_t number, std::string name, HostCallListener& listener)
      : link_(link),
        is_linked_(link.lifetime_.watch()),
        number_(number),
        name_(std::move(name)),
        output_(link.context_, link.dispatch_.secrets, listener) {
    link.calls_[number] = this;
    wait();
  }
  ~Call() override {
    if (!is_over_ && !is_linked_.is_over()) link_.end(number_, true);
  }

  void notice(std::string_view name, std::string_view value) {
    wait();
    output_.custom(name, value);
  }
  void finish(runs::ToolAnswer answer) {
    is_over_ = true;
    silence_.cancel();
    link_.end(number_, false);
    output_.answer(std::move(answer));
  }
  void fail(const std::string& why) { finish({.text = "The tool " + name_ + " failed: " + why, .failed = true}); }
  // Not from inside of the call.
  void fail_later(const std::string& why) {
    silence_ = link_.context_.loop.after(Millis{0}, [this, why] { fail(why); });
  }

 private:
  // As long as the server reports progress, it may continue.
  void wait() {
    const auto ms = link_.context_.limits.tool_timeout_ms;
    silence_ = link_.context_.loop.after(Millis{ms}, [this, ms] {
      link_.end(number_, true);
      fail("the server \"" + link_.server_ + "\" said nothing for " + std::to_string(ms / 1000) +
           " s. Whether it did its work is unknown, and it is not called again.");
    });
  }

  McpLink& link_;
  const Lifetime::Watch is_linked_;
  const uint64_t number_;
  const std::string name_;
  HostCallOutput output_;
  bool is_over_ = false;
  world::Timer silence_;
};

McpLink::McpLink(const Context& context, const dispatch::Dispatch& dispatch, std::string server,
                 McpLinkListener& listener)
    : context_(context), dispatch_(dispatch), server_(std::move(server)), listener_(listener), client_("sluice") {}

McpLink::~McpLink() = default;

void McpLink::open(std::unique_ptr<McpCarrier> carrier, int64_t ms_max, Callback<void(std::string)> done) {
  carrier_ = std::move(carrier);
  opened_ = std::move(done);
  deadline_ = context_.loop.after(Millis{ms_max}, [this, ms_max] {
    lose("it did not name its tools within " + std::to_string(ms_max / 1000) + " s");
  });
  carrier_->send(client_.begin(), 0);
}

std::unique_ptr<HostCall> McpLink::call(std::string_view tool, const models::ToolCall& call,
                                        HostCallListener& listener) {
  const auto number = ++call_count_;
  auto made = std::make_unique<Call>(*this, number, call.name, listener);
  if (lost_.empty()) {
    carrier_->send(client_.call(number, tool, call.arguments), number);
  } else {
    made->fail_later(lost_);
  }
  return made;
}

std::unique_ptr<HostCall> McpLink::read(const models::ToolCall& call, HostCallListener& listener) {
  const auto number = ++call_count_;
  auto made = std::make_unique<Call>(*this, number, call.name, listener);
  const auto arguments = json::Document::parse(call.arguments);
  const auto uri = arguments ? json::text_of(arguments.value().root(), "uri") : "";
  if (!lost_.empty()) {
    made->fail_later(lost_);
  } else if (uri.empty()) {
    made->fail_later("its argument \"uri\" is missing: give the URI of a resource");
  } else {
    carrier_->send(client_.read(number, uri), number);
  }
  return made;
}

void McpLink::on_mcp_message(std::string_view json) {
  auto news = client_.take(json);
  carrier_->agree_on(client_.protocol_version());
  send_output();
  hear_all(std::move(news));
}

void McpLink::send_output() {
  for (auto& message : client_.take_output()) carrier_->send(std::move(message), 0);
  if (!is_listing()) {
    was_listing_ = false;
    return listing_deadline_.cancel();
  }
  // One deadline for all lists that follow each other: a server that changes its tools all the time is given up too.
  if (std::exchange(was_listing_, true)) return;
  listing_deadline_ = context_.loop.after(Millis{mcp_listing_ms_max}, [this] { give_up_listing("it took too long"); });
}

void McpLink::give_up_listing(std::string_view why) {
  was_listing_ = false;
  auto news = client_.give_up_listing("It did not list its tools, which have changed: " + std::string(why));
  send_output();
  hear_all(std::move(news));
}

void McpLink::hear_all(std::vector<mcp::FromServer> news) {
  const auto alive = lifetime_.watch();
  for (auto& message : news) {
    hear(std::move(message));
    if (alive.is_over() || !lost_.empty()) return;
  }
}

void McpLink::hear(mcp::FromServer message) {
  using Kind = mcp::FromServer::Kind;
  switch (message.kind) {
    case Kind::ready:
      deadline_.cancel();
      carrier_->listen();
      if (opened_) std::exchange(opened_, nullptr)("");
      return;
    case Kind::listed: return listener_.on_mcp_listed();
    case Kind::answer:
      if (const auto found = calls_.find(message.number); found != calls_.end()) {
        found->second->finish({.text = std::move(message.result.text), .failed = message.result.failed});
      }
      return;
    case Kind::notice: return notice(message);
    case Kind::failed: return lose(std::move(message.text));
  }
}

// A line of its log belongs to no call; where one is under way, it is reported as that one's.
void McpLink::notice(const mcp::FromServer& message) {
  const auto found = message.number == 0 ? calls_.begin() : calls_.find(message.number);
  if (found != calls_.end()) {
    return found->second->notice(message.number == 0 ? "mcp.log" : "mcp.progress", notice_value(server_, message));
  }
  // A banner has no level.
  if (message.number == 0 && !message.level.empty()) log(message.level, message.text);
}

void McpLink::log(std::string_view level, std::string_view words) {
  if (logged_bytes_ > mcp_log_bytes_max || words.empty()) return;
  const auto text = runs::utf8_prefix(words, mcp_log_line_bytes_max);
  logged_bytes_ += text.size();
  const bool is_last = logged_bytes_ > mcp_log_bytes_max;
  listener_.on_mcp_log(run_level(level),
                       "MCP server " + server_ + ": " + (is_last ? "(more of it is not reported)" : std::string(text)));
}

void McpLink::on_mcp_unanswered(uint64_t number, std::string why) {
  if (number == 0) return lose(std::move(why));
  if (const auto found = calls_.find(number); found != calls_.end()) found->second->fail(why);
}

void McpLink::on_mcp_question_lost(std::string why) { give_up_listing(why); }

void McpLink::on_mcp_events_lost(std::string why) {
  log("warning", "What it sends outside of answers is not heard any more: " + why);
}

void McpLink::lose(std::string why) {
  if (!lost_.empty()) return;
  lost_ = "the server \"" + server_ + "\" is not there: " + why;
  deadline_.cancel();
  listing_deadline_.cancel();
  // Dropped first: what it still has would be answered as if the dialogue continued.
  carrier_.reset();
  const auto alive = lifetime_.watch();
  while (!calls_.empty()) {
    calls_.begin()->second->fail(lost_);
    if (alive.is_over()) return;
  }
  if (opened_) std::exchange(opened_, nullptr)(std::move(why));
}

void McpLink::end(uint64_t number, bool is_left) {
  if (calls_.erase(number) == 0 || !lost_.empty()) return;
  carrier_->leave(number);
  // A courtesy: the server may go on all the same, and its answer finds no call.
  if (is_left) carrier_->send(client_.cancel(number), 0);
}

}  // namespace sluice::tools
