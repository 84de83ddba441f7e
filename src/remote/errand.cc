#include "remote/errand.h"

#include <algorithm>
#include <utility>

namespace sluice::remote {
namespace {

constexpr std::size_t body_bytes_max = 4096;

}  // namespace

class Errands::Errand final : private net::CallListener {
 public:
  Errand(Errands& errands, uint64_t number, net::ClientRequest request, Callback<void(ErrandAnswer)> done)
      : errands_(errands),
        number_(number),
        done_(std::move(done)),
        call_(errands.client_.call(std::move(request), *this)) {}

 private:
  void on_head(int status, const net::Headers&) override { answer_.status = status; }
  void on_body(std::string_view bytes) override {
    answer_.body += bytes.substr(0, body_bytes_max - std::min(body_bytes_max, answer_.body.size()));
  }
  void on_end(net::CallEnd end) override {
    if (end.failure) answer_ = {.why = std::move(end.what)};
    auto done = std::move(done_);
    auto answer = std::move(answer_);
    errands_.end(number_);
    if (done) done(std::move(answer));
  }

  Errands& errands_;
  const uint64_t number_;
  Callback<void(ErrandAnswer)> done_;
  ErrandAnswer answer_;
  std::unique_ptr<net::Call> call_;
};

Errands::Errands(net::Client& client, world::Loop& loop) : client_(client), loop_(loop) {}
Errands::~Errands() = default;

void Errands::send(net::ClientRequest request, Callback<void(ErrandAnswer)> done) {
  const auto number = next_++;
  errands_.emplace(number, std::make_unique<Errand>(*this, number, std::move(request), std::move(done)));
}

void Errands::end(uint64_t number) {
  const auto found = errands_.find(number);
  // It is still on the stack.
  loop_.defer([ended = std::move(found->second)] {});
  errands_.erase(found);
}

}  // namespace sluice::remote
