#include "sessions/file_notifier.h"

#include <utility>

#include "base/bytes.h"
#include "base/digest.h"
#include "base/json.h"
#include "sessions/file_work.h"

namespace sluice::sessions {
namespace {

void write_news(json::Writer& writer, const workspace::FileNews& news, Timestamp at) {
  writer.key("type").string(news.name()).key("path").string(news.path).key("timestamp").integer(at.ms);
}

}  // namespace

FileNotifier::FileNotifier(FileHooks hooks, Needs needs, Execute execute)
    : hooks_(std::move(hooks)), needs_(needs), execute_(std::move(execute)) {}

void FileNotifier::notify(const model::RunId& run, const std::vector<workspace::FileNews>& news, Timestamp at) {
  if (news.empty()) return;
  if (!hooks_.webhook_url.empty()) {
    std::string body;
    json::Writer writer(body);
    writer.begin_object().key("run_id").string(run.text()).key("events").begin_array();
    for (const auto& piece : news) {
      writer.begin_object();
      write_news(writer, piece, at);
      writer.end_object();
    }
    writer.end_array().end_object();
    queue(posts_, std::move(body));
    if (posts_.size() == 1) post();
  }
  if (!hooks_.command.empty()) {
    std::string lines;
    for (const auto& piece : news) {
      json::Writer writer(lines);
      writer.begin_object().key("run_id").string(run.text());
      write_news(writer, piece, at);
      writer.end_object();
      lines += '\n';
    }
    queue(inputs_, std::move(lines));
    if (!is_running_) run_command();
  }
}

void FileNotifier::queue(std::deque<std::string>& waiting, std::string text) {
  if (waiting.size() == waiting_max) return complain("queue", "news were dropped: too many are waiting");
  waiting.push_back(std::move(text));
}

void FileNotifier::post() {
  status_ = 0;
  net::ClientRequest request{.method = "POST",
                             .url = hooks_.webhook_url,
                             .body = posts_.front(),
                             .idle_ms_max = post_ms_max,
                             .total_ms_max = post_ms_max};
  request.headers.add("Content-Type", "application/json");
  request.headers.add("Sluice-Signature", "sha256=" + to_hex(hmac_sha256(hooks_.webhook_secret, posts_.front())));
  call_ = needs_.client.call(std::move(request), *this);
}

void FileNotifier::on_end(net::CallEnd end) {
  call_.reset();
  if (!end.failure && status_ / 100 == 2) return go_on_posting();
  if (attempt_ < attempts_max) {
    retry_ = needs_.loop.after(Millis{retry_first_ms << (attempt_ - 1)}, [this] { post(); });
    ++attempt_;
    return;
  }
  complain("webhook", end.failure ? end.what : "status " + std::to_string(status_));
  go_on_posting();
}

void FileNotifier::go_on_posting() {
  attempt_ = 1;
  posts_.pop_front();
  if (!posts_.empty()) post();
}

void FileNotifier::run_command() {
  is_running_ = true;
  auto input = std::move(inputs_.front());
  inputs_.pop_front();
  run_off_loop<Result<Unit>>(
      needs_.workers, lifetime_.watch(),
      [execute = execute_, argv = hooks_.command, input = std::move(input)] { return execute(argv, input); },
      [this](Result<Unit> done) {
        is_running_ = false;
        if (!done) complain("command", done.error().what);
        if (!inputs_.empty()) run_command();
      });
}

void FileNotifier::complain(std::string_view hook, const std::string& why) {
  needs_.log.write(world::LogLevel::warn, "file hook failed", {{"hook", hook}, {"why", why}});
}

}  // namespace sluice::sessions
