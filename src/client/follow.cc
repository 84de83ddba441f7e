#include "client/follow.h"

#include <algorithm>
#include <utility>

#include "base/json.h"

namespace sluice::client {
namespace {

bool is_ndjson(const net::Headers& headers) {
  return headers.find("Content-Type").value_or("").find("application/x-ndjson") != std::string_view::npos;
}

}  // namespace

net::ClientRequest make_request(const Server& server, std::string method, std::string_view path, std::string body,
                                const net::Headers& headers) {
  net::ClientRequest request;
  request.method = std::move(method);
  request.url = server.base_url + std::string(path);
  request.headers = headers;
  if (!server.key.empty()) request.headers.add("Authorization", "Bearer " + server.key);
  if (!body.empty()) request.headers.add("Content-Type", "application/json");
  request.body = std::move(body);
  return request;
}

Follow::Follow(const Server& server, const SessionOptions& options, net::Client& client, world::Loop& loop)
    : server_(server), options_(options), client_(client), loop_(loop) {}

void Follow::begin(Target target, Hearing hearing, Callback<void(Outcome)> done) {
  target_ = std::move(target);
  hearing_ = std::move(hearing);
  done_ = std::move(done);
  may_attach_ = options_.reattach;
  reached_us_ = loop_.monotonic_us();
  wait_ms_ = options_.poll_first_ms;
  step_ = !target_.body.empty() ? Step::send : may_attach_ ? Step::attach : Step::poll;
  ask();
}

void Follow::ask() {
  call_.reset();
  streaming_ = decided_ = false;
  status_ = 0;
  body_.clear();
  // A replay begins at seq 0; take() leaves out the events that were delivered before.
  stream_ = EventStream(step_ == Step::attach ? target_.last_seq + 1 : 0);
  call_ = client_.call(request_of_step(), *this);
}

net::ClientRequest Follow::request_of_step() const {
  net::ClientRequest request;
  switch (step_) {
    case Step::send:
      request = make_request(
          server_, "POST",
          "/v1/conversations/" + target_.conversation_id + "/messages" + (options_.full ? "?detail=full" : ""),
          target_.body, target_.headers);
      break;
    case Step::attach: {
      auto path = "/v1/messages/" + target_.message_id + "/events" + (options_.full ? "?detail=full" : "");
      if (target_.last_seq >= 0) path += (options_.full ? "&after=" : "?after=") + std::to_string(target_.last_seq);
      request = make_request(server_, "GET", path, "", {{"Accept", "application/x-ndjson"}});
      break;
    }
    case Step::poll: {
      auto path = target_.conversation_id.empty()
                      ? "/v1/messages/" + target_.message_id
                      : "/v1/conversations/" + target_.conversation_id + "/messages?order=desc&limit=100";
      if (!cursor_.empty()) path += "&starting_after=" + cursor_;
      return make_request(server_, "GET", path, "", {});
    }
  }
  request.idle_ms_max = options_.idle_ms_max;
  request.total_ms_max = 0;
  return request;
}

void Follow::on_head(int status, const net::Headers& headers) {
  status_ = status;
  streaming_ = step_ != Step::poll && status == 200 && is_ndjson(headers);
  reached_once_ = true;
  if (!streaming_) return;
  reached_us_ = loop_.monotonic_us();
  notice_return();
  if (const auto id = headers.find("X-Message-Id"); id && target_.message_id.empty()) target_.message_id = *id;
}

void Follow::on_body(std::string_view bytes) {
  if (decided_) return;
  if (!streaming_) {
    if (body_.size() + bytes.size() > reply_bytes_max) return recover("the answer is larger than 64 MiB");
    body_ += bytes;
    return;
  }
  reached_us_ = loop_.monotonic_us();  // a run may stream, wait for a human and be cut long after its head
  auto events = stream_.feed(bytes);
  if (events) return take(events.value());
  if (step_ == Step::attach) may_attach_ = false;  // the same bytes would come again
  recover(events.error().what);
}

void Follow::on_end(net::CallEnd end) {
  if (decided_) return;
  if (streaming_) return recover(end.failure ? end.what : "the stream ended without its terminal event");
  if (!end.failure) return judge_answer();
  const bool hopeless =
      *end.failure == net::CallFailure::refused || (*end.failure == net::CallFailure::unreachable && !reached_once_);
  if (hopeless) return finish({Outcome::Kind::unknown, "", end.what + "; nothing was sent", 0});
  recover(end.what);
}

void Follow::take(const std::vector<Event>& events) {
  for (const auto& event : events) {
    if (!event.message_id.empty()) target_.message_id = event.message_id;
    if (event.seq <= target_.last_seq) continue;
    target_.last_seq = event.seq;
    wait_ms_ = options_.poll_first_ms;
    hearing_.on_event(event);
  }
  if (events.empty() || !events.back().terminal()) return;
  const auto& last = events.back();
  if (last.type == "error") return finish({Outcome::Kind::failed, last.data, "", 200});
  const auto data = json::Document::parse(last.data);
  const auto message = data ? data.value().root().find("message") : std::nullopt;
  if (!message) return recover("message_end has no message");
  finish({Outcome::Kind::completed, message->to_text(), "", 200});
}

void Follow::judge_answer() {
  switch (step_) {
    case Step::send: return judge_send();
    case Step::attach: return judge_attach();
    case Step::poll: return judge_poll();
  }
}

void Follow::judge_send() {
  if (status_ < 300) return finish({Outcome::Kind::unknown, body_, "the answer is not an event stream", status_});
  // Only the repetition of a request that was cut may find a server that is still getting up.
  if (sent_before_ && server_is_unwell()) return recover("the server answered " + std::to_string(status_));
  refuse();
}

void Follow::judge_attach() {
  if (status_ == 401 || status_ == 403) return refuse();
  // A server without re-attach, a message without events, or a power cut that took events we have
  // seen: the history knows.
  if (!server_is_unwell()) may_attach_ = false;
  recover("re-attaching was answered " + std::to_string(status_));
}

void Follow::judge_poll() {
  if (server_is_unwell()) return recover("the server answered " + std::to_string(status_));
  if (status_ != 200) return refuse();
  const auto document = json::Document::parse(body_);
  if (!document) return recover("the history is not JSON");
  const auto root = document.value().root();
  if (target_.conversation_id.empty()) return judge_message(text_of(root, "status"), root.to_text());

  std::string status, message;
  if (const auto rows = root.find("data")) {
    rows->each_element([&](json::Value row) {
      if (text_of(row, "id") != target_.message_id) return;
      status = text_of(row, "status");
      message = row.to_text();
    });
  }
  cursor_ = message.empty() ? text_of(root, "next_cursor") : "";
  if (message.empty()) return retry(Step::poll, "the history does not have the message");
  judge_message(status, std::move(message));
}

void Follow::judge_message(std::string_view status, std::string json) {
  reached_us_ = loop_.monotonic_us();
  notice_return();
  if (status == "completed") return finish({Outcome::Kind::completed, std::move(json), "", 200});
  if (status == "failed") {
    return finish({Outcome::Kind::failed, std::move(json), "the run failed; its history does not say why", 200});
  }
  retry(Step::poll, "the message is " + std::string(status));
}

void Follow::recover(const std::string& why) {
  notice_outage();
  if (!target_.message_id.empty()) return retry(may_attach_ ? Step::attach : Step::poll, why);
  if (target_.headers.find("Idempotency-Key")) return retry(Step::send, why);
  // To send again could send twice, and the latest message of the history could be another one.
  finish({Outcome::Kind::unknown, "", why + "; the message may or may not have been accepted", status_});
}

void Follow::retry(Step step, const std::string& why) {
  if (loop_.monotonic_us() - reached_us_ > options_.give_up_ms * 1000) {
    return finish({Outcome::Kind::unknown, "", why + "; gave up, the run may go on", status_});
  }
  decided_ = true;
  sent_before_ = sent_before_ || step_ == Step::send;
  step_ = step;
  const int64_t wait_ms = wait_ms_;
  wait_ms_ = std::min(wait_ms_ * 2, options_.poll_ms_max);
  next_ = loop_.after({wait_ms}, [this] { ask(); });
}

// Most broken connections recover at once and need no message.
void Follow::notice_outage() {
  if (std::exchange(is_lost_, true)) return;
  outage_ = loop_.after({options_.outage_notice_ms}, [this] {
    was_told_lost_ = true;
    hearing_.on_link(Link::lost);
  });
}

void Follow::notice_return() {
  outage_.cancel();
  is_lost_ = false;
  if (std::exchange(was_told_lost_, false)) hearing_.on_link(Link::back);
}

// Later, because the call that brought the news must not be dropped from inside its own callback.
void Follow::finish(Outcome outcome) {
  decided_ = true;
  outage_.cancel();
  next_ = loop_.after({0}, [this, outcome = std::move(outcome)]() mutable {
    call_.reset();
    auto done = std::move(done_);
    done(std::move(outcome));
  });
}

}  // namespace sluice::client
