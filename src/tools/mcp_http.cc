#include <algorithm>
#include <deque>
#include <list>
#include <string>
#include <utility>

#include "base/json.h"
#include "base/sse.h"
#include "runs/runs.h"
#include "tools/http_answer.h"
#include "tools/mcp_events.h"
#include "tools/mcp_link.h"
#include "tools/mcp_token.h"

namespace sluice::tools {
namespace {

constexpr int64_t short_ms_max = 10'000;  // for what is no call of a tool
// A server is heard for so long after a call of it, so that runs that wait for a human hold no streams.
constexpr int64_t listening_ms_max = 600'000;
constexpr int64_t listening_retry_ms_min = 1'000;
constexpr std::size_t messages_waiting_max = 256;  // answers to a server that asks faster than it listens

// Does a dialogue go on after it? An answer has an id and no method.
bool is_response(std::string_view message) {
  const auto document = json::Document::parse(message);
  return document && document.value().root().find("id") && !document.value().root().find("method");
}

class McpHttp final : public McpCarrier, private McpEventsListener {
 public:
  McpHttp(const Context& context, std::string url, std::vector<net::Header> headers, std::unique_ptr<McpToken> token,
          McpCarrierListener& listener)
      : context_(context),
        url_(std::move(url)),
        headers_(std::move(headers)),
        token_(std::move(token)),
        listener_(listener) {}

  void send(mcp::Outgoing message, uint64_t number) override {
    if (greeting_.message.empty()) greeting_ = message;
    if (number != 0 && is_renewing_) return repeats_.push_back({std::move(message), number});
    if (number != 0) {
      if (listening_) listen();
      return post(std::move(message), {.number = number});
    }
    if (waiting_.size() >= messages_waiting_max && !message.expects_answer) return;
    waiting_.push_back(std::move(message));
    post_next();
  }
  void leave(uint64_t number) override {
    std::erase_if(posts_, [&](const auto& post) { return post->number == number; });
    std::erase_if(repeats_, [&](const Repeat& repeat) { return repeat.number == number; });
  }
  void agree_on(std::string_view version) override { version_ = version; }
  void listen() override {
    const auto until_us = now_us() + listening_ms_max * 1'000;
    if (listening_) return listening_->keep_until(until_us);
    const McpEvents::Bounds bounds{
        .until_us = until_us, .bytes_max = call_bytes_max(), .retry_ms_min = listening_retry_ms_min};
    McpEventsListener& self = *this;
    listening_token_ = token_ ? token_->value() : "";
    listening_ = std::make_unique<McpEvents>(context_, request_of("GET", session_), std::exchange(listening_from_, {}),
                                             bounds, false, self);
  }

 private:
  // What a message is to the dialogue.
  struct Purpose {
    uint64_t number = 0;
    bool is_repeated = false;  // in another session than the first time
    bool is_renewal = false;   // begins another session
  };
  struct Repeat {
    mcp::Outgoing message;
    uint64_t number = 0;
  };
  struct Post final : net::CallListener, McpEventsListener {
    Post(McpHttp& of, Purpose purpose, mcp::Outgoing said)
        : carrier(of),
          number(purpose.number),
          is_repeated(purpose.is_repeated),
          is_renewal(purpose.is_renewal),
          expects_answer(said.expects_answer),
          session(of.session_),
          waits_for_token(of.token_ && of.token_->is_due()),
          until_us(of.now_us() + of.ms_max(purpose.number) * 1'000),
          message(std::move(said)) {}
    void on_head(int code, const net::Headers& headers) override {
      status = code;
      is_stream = status / 100 == 2 && media_type_of(headers) == "text/event-stream";
      if (status == 401) challenge = challenge_of(headers);
      const auto given = headers.find("mcp-session-id");
      if (given && carrier.session_.empty() && is_renewal == carrier.is_renewing_) carrier.session_ = *given;
    }
    void on_body(std::string_view bytes) override { carrier.hear(*this, bytes); }
    void on_end(net::CallEnd end) override { carrier.end(*this, end); }
    void on_mcp_event(std::string_view json) override { carrier.hear_rest(*this, json); }
    void on_mcp_events_end(McpEventsEnd end, std::string why) override {
      if (end == McpEventsEnd::unauthorized && carrier.may_authorize_again(*this)) return carrier.authorize(*this);
      carrier.fail(*this, "its answer broke off, and the rest did not come: " + why);
    }

    McpHttp& carrier;
    const uint64_t number;
    const bool is_repeated;
    const bool is_renewal;
    const bool expects_answer;
    const std::string session;  // that it was sent in; empty: in none
    bool waits_for_token;
    const int64_t until_us;
    mcp::Outgoing message;
    bool was_refused = false;  // by 401, with a token that was not new
    bool is_answered = false;
    bool is_resumed = false;
    std::string token;  // that it was sent with
    McpChallenge challenge;
    int status = 0;
    bool is_stream = false;
    std::size_t byte_count = 0;
    SseReader reader;
    McpCursor cursor;
    std::string body;
    Lifetime lifetime;
    std::unique_ptr<net::Call> call;
    std::unique_ptr<McpEvents> rest;  // of an answer that broke off
  };

  // The dialogue's own messages go one after another: what follows a greeting must not overtake it.
  void post_next() {
    const bool is_busy = std::ranges::any_of(posts_, [](const auto& post) { return post->number == 0; });
    if (is_busy) return;
    if (waiting_.empty()) return repeat_calls();
    auto message = std::move(waiting_.front());
    waiting_.pop_front();
    post(std::move(message), {});
  }

  int64_t now_us() const { return context_.loop.monotonic_us(); }
  int64_t ms_max(uint64_t number) const { return number == 0 ? short_ms_max : context_.limits.tool_timeout_ms_max; }
  std::size_t call_bytes_max() const {
    return static_cast<std::size_t>(context_.options.tool_answer_bytes_max) * mcp_answer_factor;
  }

  net::ClientRequest request_of(std::string method, const std::string& session, bool has_agreed = true) const {
    const auto reach = net::reach_of(url_, context_.options.tool_urls);
    net::ClientRequest request{
        .method = std::move(method), .url = url_, .public_addresses_only = reach != net::Reach::anywhere};
    if (!session.empty()) request.headers.add("Mcp-Session-Id", session);
    if (!version_.empty() && has_agreed) request.headers.add("MCP-Protocol-Version", version_);
    for (const auto& [name, value] : headers_) request.headers.add(name, value);
    if (token_ && !token_->value().empty()) request.headers.add("Authorization", "Bearer " + token_->value());
    return request;
  }

  void post(mcp::Outgoing message, Purpose purpose) {
    auto& made = *posts_.emplace_back(std::make_unique<Post>(*this, purpose, std::move(message)));
    made.waits_for_token ? fetch_token() : begin(made);
  }
  void begin(Post& post) {
    post.token = token_ ? token_->value() : "";
    if (post.is_resumed) return resume(post);
    auto request = request_of("POST", post.session, !post.is_renewal);
    request.body = post.message.message;
    request.idle_ms_max = request.total_ms_max = ms_max(post.number);
    request.headers.add("Content-Type", "application/json");
    request.headers.add("Accept", "application/json, text/event-stream");
    post.call = context_.client.call(std::move(request), post);
  }

  // ── a token that there is not yet, or not any more ──
  // A server that answers 401 did not carry the message out, so that it may be sent again, once, with another token.
  bool may_authorize_again(const Post& post) const { return token_ && !post.was_refused; }
  void authorize(Post& post) {
    post.was_refused = true;
    post.call.reset();
    post.rest.reset();
    post.body.clear();
    if (!post.is_resumed) post.byte_count = 0;
    token_->refuse(post.token, std::move(post.challenge));
    post.waits_for_token = token_->is_due();
    post.waits_for_token ? fetch_token() : begin(post);
  }
  void fetch_token() {
    if (!token_->is_being_fetched()) token_->fetch([this](const std::string& fault) { hear_token(fault); });
  }
  void hear_token(const std::string& fault) {
    if (fault.empty() && std::exchange(listens_with_next_token_, false) && !is_renewing_) listen();
    const auto alive = lifetime_.watch();
    const auto waits = [](const auto& post) { return post->waits_for_token; };
    for (auto at = std::ranges::find_if(posts_, waits); at != posts_.end(); at = std::ranges::find_if(posts_, waits)) {
      auto& post = **at;
      post.waits_for_token = false;
      fault.empty() ? begin(post) : give_up(post, fault);
      if (alive.is_over()) return;
    }
  }

  void hear(Post& post, std::string_view bytes) {
    post.byte_count += bytes.size();
    const auto bytes_max = bytes_max_of(post);
    if (post.byte_count > bytes_max) {
      return fail(post, "its answer is longer than " + std::to_string(bytes_max) + " bytes");
    }
    if (!post.is_stream) {
      post.body.append(bytes);
      return;
    }
    const auto events = post.reader.feed(bytes);
    if (!events) return fail(post, "its answer is no stream of events: " + events.error().what);
    post.cursor.take(post.reader);
    const auto alive = post.lifetime.watch();
    for (const auto& event : events.value()) {
      if (!event.data.empty()) take(post, event.data);
      if (alive.is_over()) return;
    }
    if (post.number == 0 && post.is_answered) drop(post);
  }

  std::size_t bytes_max_of(const Post& post) const {
    return post.number == 0 ? static_cast<std::size_t>(context_.options.tool_answer_bytes_max) : call_bytes_max();
  }

  // ── an answer that the server continues in another stream ──
  bool can_resume(const Post& post, const net::CallEnd& end) const {
    const bool broke_off = !end.failure || *end.failure == net::CallFailure::cut;
    return broke_off && post.is_stream && post.expects_answer && !post.is_answered && !post.cursor.last_id.empty();
  }
  void resume(Post& post) {
    post.is_resumed = true;
    post.token = token_ ? token_->value() : "";
    post.call.reset();
    const McpEvents::Bounds bounds{.until_us = post.until_us, .bytes_max = bytes_max_of(post) - post.byte_count};
    McpEventsListener& rest = post;
    post.rest = std::make_unique<McpEvents>(context_, request_of("GET", post.session), post.cursor, bounds, true, rest);
  }
  void hear_rest(Post& post, std::string_view message) {
    const auto alive = post.lifetime.watch();
    take(post, message);
    if (!alive.is_over() && post.number == 0 && post.is_answered) drop(post);
  }

  // ── what belongs to no call ──
  void on_mcp_event(std::string_view json) override {
    was_listening_refused_ = false;
    listener_.on_mcp_message(json);
  }
  void on_mcp_events_end(McpEventsEnd end, std::string why) override {
    const bool is_refused = end == McpEventsEnd::unauthorized && token_;
    if (is_refused && !std::exchange(was_listening_refused_, true)) {
      listening_from_ = listening_->cursor();
      token_->refuse(listening_token_, {});
      listening_.reset();
      if (!token_->is_due()) return listen();
      listens_with_next_token_ = true;
      return fetch_token();
    }
    if (end == McpEventsEnd::broken) listener_.on_mcp_events_lost(std::move(why));
  }

  // ── a session that the server has forgotten ──
  // It did not carry the call out, so that this may be sent again, once, in a session that is begun for it.
  void renew(Post& post) {
    repeats_.push_back({std::move(post.message), post.number});
    const bool is_first = !is_renewing_ && post.session == session_;
    remove(post);
    if (!is_first) return post_next();
    is_renewing_ = true;
    session_.clear();
    listens_again_ = listening_ != nullptr;
    listening_.reset();
    this->post(greeting_, {.is_renewal = true});
  }
  void finish_renewal() {
    is_renewing_ = false;
    waiting_.push_front({.message = mcp::initialized_notice(), .expects_answer = false});
  }
  void repeat_calls() {
    if (is_renewing_) return;
    if (std::exchange(listens_again_, false)) listen();
    for (auto& [message, number] : std::exchange(repeats_, {})) {
      post(std::move(message), {.number = number, .is_repeated = true});
    }
  }
  void give_up_renewal(const std::string& why) {
    is_renewing_ = false;
    const auto alive = lifetime_.watch();
    for (const auto& repeat : std::exchange(repeats_, {})) {
      listener_.on_mcp_unanswered(repeat.number, "its session was lost, and it began no other: " + why);
      if (alive.is_over()) return;
    }
    post_next();
  }

  void end(Post& post, const net::CallEnd& end) {
    if (can_resume(post, end)) return resume(post);
    if (end.failure) return fail(post, "its answer did not come: " + end.what);
    if (post.status == 404 && post.number != 0 && !post.session.empty() && !post.is_repeated) return renew(post);
    if (post.status == 401 && may_authorize_again(post)) return authorize(post);
    if (post.status / 100 != 2) return fail(post, "it answered with " + status_words(post.status, post.body));
    const auto alive = post.lifetime.watch();
    const auto body = std::move(post.body);
    if (!body.empty()) take(post, body);
    if (alive.is_over()) return;
    const bool is_missed = post.expects_answer && !post.is_answered;
    is_missed ? fail(post, "its answer ended without a result") : drop(post);
  }

  // May drop the post, and this.
  void take(Post& post, std::string_view message) {
    if (post.number == 0 && is_response(message)) post.is_answered = true;
    if (post.is_renewal) return;  // the dialogue is past it
    listener_.on_mcp_message(message);
  }

  void fail(Post& post, std::string why) {
    const bool is_call = post.number != 0 && !post.is_renewal;
    if (is_call) why += ". Whether it did its work is unknown, and it is not called again.";
    give_up(post, std::move(why));
  }
  void give_up(Post& post, std::string why) {
    const auto number = post.number;
    const bool matters = post.expects_answer;
    if (post.is_renewal) {
      remove(post);
      return give_up_renewal(why);
    }
    const auto alive = lifetime_.watch();
    remove(post);
    if (matters && number == 0 && listening_) {
      listener_.on_mcp_question_lost(std::move(why));
    } else if (matters) {
      listener_.on_mcp_unanswered(number, std::move(why));
    }
    if (!alive.is_over()) post_next();
  }
  void drop(Post& post) {
    if (post.is_renewal) finish_renewal();
    remove(post);
    post_next();
  }
  void remove(Post& post) {
    std::erase_if(posts_, [&](const auto& one) { return one.get() == &post; });
  }

  const Context& context_;
  const std::string url_;
  const std::vector<net::Header> headers_;
  const std::unique_ptr<McpToken> token_;  // null: the server needs none
  McpCarrierListener& listener_;
  std::string session_;
  std::string version_;
  mcp::Outgoing greeting_;  // as it was first sent
  bool is_renewing_ = false;
  std::vector<Repeat> repeats_;  // calls that are sent again in the session that is being begun
  std::deque<mcp::Outgoing> waiting_;
  bool listens_again_ = false;  // once the next session has begun
  Lifetime lifetime_;
  std::string listening_token_;         // that it was opened with
  McpCursor listening_from_;            // where a stream ended whose token was refused
  bool was_listening_refused_ = false;  // and nothing was heard since
  bool listens_with_next_token_ = false;
  std::unique_ptr<McpEvents> listening_;  // null: not yet
  std::list<std::unique_ptr<Post>> posts_;
};

}  // namespace

std::unique_ptr<McpCarrier> make_mcp_http(const Context& context, std::string url, std::vector<net::Header> headers,
                                          std::unique_ptr<McpToken> token, McpCarrierListener& listener) {
  return std::make_unique<McpHttp>(context, std::move(url), std::move(headers), std::move(token), listener);
}

}  // namespace sluice::tools
