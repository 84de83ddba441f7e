#include "remote/runner_requests.h"

#include <algorithm>
#include <utility>

namespace sluice::remote {
namespace {

constexpr std::size_t body_bytes_max = 4096;

}  // namespace

class RunnerRequests::Request final : private net::CallListener {
 public:
  Request(RunnerRequests& requests, uint64_t number, net::ClientRequest request, Callback<void(RunnerAnswer)> done)
      : requests_(requests),
        number_(number),
        done_(std::move(done)),
        call_(requests.client_.call(std::move(request), *this)) {}

 private:
  void on_head(int status, const net::Headers&) override { answer_.status = status; }
  void on_body(std::string_view bytes) override {
    answer_.body += bytes.substr(0, body_bytes_max - std::min(body_bytes_max, answer_.body.size()));
  }
  void on_end(net::CallEnd end) override {
    if (end.failure) answer_ = {.why = std::move(end.what)};
    auto done = std::move(done_);
    auto answer = std::move(answer_);
    requests_.end(number_);
    if (done) done(std::move(answer));
  }

  RunnerRequests& requests_;
  const uint64_t number_;
  Callback<void(RunnerAnswer)> done_;
  RunnerAnswer answer_;
  std::unique_ptr<net::Call> call_;
};

RunnerRequests::RunnerRequests(net::Client& client, world::Loop& loop) : client_(client), loop_(loop) {}
RunnerRequests::~RunnerRequests() = default;

void RunnerRequests::send(net::ClientRequest request, Callback<void(RunnerAnswer)> done) {
  const auto number = next_++;
  requests_.emplace(number, std::make_unique<Request>(*this, number, std::move(request), std::move(done)));
}

void RunnerRequests::end(uint64_t number) {
  const auto found = requests_.find(number);
  // It is still on the stack.
  loop_.defer([ended = std::move(found->second)] {});
  requests_.erase(found);
}

}  // namespace sluice::remote
