#include <algorithm>
#include <deque>
#include <unordered_map>

#include "base/bytes.h"
#include "base/digest.h"
#include "base/json.h"
#include "base/lifetime.h"
#include "base/notice_limits.h"
#include "notices/notices.h"

namespace sluice::notices {
namespace {

constexpr int64_t look_every_ms = 15'000;
constexpr int64_t wait_ms_max = 3'600'000;
constexpr int64_t call_ms_max = 15'000;
constexpr int due_page = 64;
// A notice that was found waits here for a slot of its tenant. Not for long, because the store gives it to another
// server a minute later, and the tenant may change its URL.
constexpr int64_t wait_here_ms_max = 5'000;
constexpr int waiting_of_tenant_max = 16;

class NoticePost;

// One notice on its way.
class Delivery final : public net::CallListener {
 public:
  Delivery(NoticePost& post, store::DueNotice due) : post_(post), due_(std::move(due)) {}
  model::TenantId tenant() const { return due_.notice.tenant_id; }
  void begin(net::Client& client, net::ClientRequest request) { call_ = client.call(std::move(request), *this); }

 private:
  void on_head(int status, const net::Headers&) override { status_ = status; }
  // What a host has to say about it is of no interest; the call ends with it.
  void on_body(std::string_view) override {}
  void on_end(net::CallEnd end) override;

  NoticePost& post_;
  const store::DueNotice due_;
  int status_ = 0;
  std::unique_ptr<net::Call> call_;
};

class NoticePost final : public Post {
 public:
  NoticePost(PostOptions options, store::Store& store, net::Client& client, world::Loop& loop, world::Log& log,
             world::Metrics& metrics)
      : options_(std::move(options)),
        store_(store),
        client_(client),
        loop_(loop),
        log_(log),
        taken_(metrics.counter("sluice_notices_total", "Webhook calls.", R"(outcome="taken")")),
        failed_(metrics.counter("sluice_notices_total", "Webhook calls.", R"(outcome="failed")")),
        given_up_(metrics.counter("sluice_notices_total", "Webhook calls.", R"(outcome="given_up")")) {}

  void nudge() override;
  // Records whether the host took `due`.
  void settle(const store::DueNotice& due, bool taken, const std::string& why);

 private:
  void look();
  void look_later();
  // A tenant whose host does not answer must not take all slots.
  bool has_slot_for(model::TenantId tenant) const;
  void enqueue(store::DueNotice due);
  void send_waiting();
  void send(store::DueNotice due);

  const PostOptions options_;
  store::Store& store_;
  net::Client& client_;
  world::Loop& loop_;
  world::Log& log_;
  world::Counter& taken_;
  world::Counter& failed_;
  world::Counter& given_up_;
  std::unordered_map<model::NoticeId, std::unique_ptr<Delivery>> under_way_;
  struct Waiting {
    store::DueNotice due;
    int64_t until_ms;
  };
  std::deque<Waiting> waiting_;
  bool looking_ = false;
  bool again_ = false;  // nudged again meanwhile
  int64_t look_in_ms_ = look_every_ms;
  world::Timer next_look_;
  Lifetime lifetime_;
};

void Delivery::on_end(net::CallEnd end) {
  const bool taken = !end.failure && status_ >= 200 && status_ < 300;
  post_.settle(due_, taken, end.failure ? end.what : "it answered " + std::to_string(status_));
}

void NoticePost::nudge() {
  if (std::exchange(looking_, true)) {
    again_ = true;
    return;
  }
  next_look_.cancel();
  loop_.defer(lifetime_.guard([this] { look(); }));
}

void NoticePost::look() {
  again_ = false;
  store::due_notices(store_.database(), loop_.now(), due_page,
                     lifetime_.guard([this](Result<std::vector<store::DueNotice>> due) {
                       looking_ = false;
                       if (due) {
                         for (auto& notice : due.value()) enqueue(std::move(notice));
                       }
                       send_waiting();
                       if (again_) return nudge();
                       look_later();
                     }));
}

// Attempts that failed become due again without anybody's nudging.
void NoticePost::look_later() {
  next_look_ = loop_.after({std::exchange(look_in_ms_, look_every_ms)}, [this] { nudge(); });
}

bool NoticePost::has_slot_for(model::TenantId tenant) const {
  const auto of_tenant =
      std::ranges::count_if(under_way_, [&](const auto& entry) { return entry.second->tenant() == tenant; });
  return of_tenant < limits::due_notices_of_tenant_max &&
         under_way_.size() < static_cast<std::size_t>(options_.at_once_max);
}

void NoticePost::enqueue(store::DueNotice due) {
  if (under_way_.contains(due.notice.id)) return;
  int of_tenant = 0;
  for (const auto& [other, until_ms] : waiting_) {
    if (other.notice.id == due.notice.id) return;
    if (other.notice.tenant_id == due.notice.tenant_id) ++of_tenant;
  }
  if (of_tenant < waiting_of_tenant_max) waiting_.push_back({std::move(due), loop_.now().ms + wait_here_ms_max});
}

void NoticePost::send_waiting() {
  const auto now_ms = loop_.now().ms;
  for (auto& [due, until_ms] : std::exchange(waiting_, {})) {
    if (until_ms <= now_ms) continue;  // it becomes due again
    if (has_slot_for(due.notice.tenant_id)) {
      send(std::move(due));
    } else {
      waiting_.push_back({std::move(due), until_ms});
    }
  }
}

void NoticePost::send(store::DueNotice due) {
  const auto id = due.notice.id;
  const auto reach = net::reach_of(due.url, options_.webhook_urls);
  if (reach == net::Reach::nowhere) {
    return settle(due, false, "the operator does not allow this URL");
  }
  const auto seconds = std::to_string(loop_.now().ms / 1000);
  net::ClientRequest request{.method = "POST", .url = due.url, .total_ms_max = call_ms_max};
  request.headers = {{"Content-Type", "application/json"},
                     {"Sluice-Notice-Id", id.text()},
                     {"Sluice-Signature", signature(webhook_secret(options_.signing_root, due.notice.tenant_id),
                                                    seconds, due.notice.body)}};
  request.body = due.notice.body;
  request.public_addresses_only = reach == net::Reach::public_addresses;
  request.idle_ms_max = call_ms_max;
  auto delivery = std::make_unique<Delivery>(*this, std::move(due));
  auto& entered = *delivery;
  under_way_.emplace(id, std::move(delivery));
  entered.begin(client_, std::move(request));
}

void NoticePost::settle(const store::DueNotice& due, bool taken, const std::string& why) {
  // It is under way until the store knows how it went, or it would be found due again and sent twice. A store that
  // cannot say leaves it due, and it is sent once more.
  auto settled = lifetime_.guard([this, id = due.notice.id](const Result<Unit>&) {
    under_way_.erase(id);
    send_waiting();
    nudge();
  });
  if (taken) {
    taken_.add();
    return store::notice_taken(store_.database(), due.notice.id, std::move(settled));
  }
  failed_.add();
  log_.write(world::LogLevel::warn, "webhook did not take a notice",
             {{"tenant", due.notice.tenant_id.text()},
              {"notice", due.notice.id.text()},
              {"attempt", int64_t{due.attempts + 1}},
              {"why", why}});
  if (loop_.now().ms - due.notice.created_at.ms >= options_.give_up_ms) {
    given_up_.add();
    return store::notice_taken(store_.database(), due.notice.id, std::move(settled));
  }
  const int64_t wait = std::min(wait_ms_max, options_.first_ms << std::min(due.attempts, 20));
  look_in_ms_ = std::min(look_in_ms_, wait);
  store::notice_failed(store_.database(), due.notice.id, {loop_.now().ms + wait}, std::move(settled));
}

}  // namespace

std::unique_ptr<Post> make_post(PostOptions options, store::Store& store, net::Client& client, world::Loop& loop,
                                world::Log& log, world::Metrics& metrics) {
  return std::make_unique<NoticePost>(std::move(options), store, client, loop, log, metrics);
}

std::string webhook_secret(std::string_view signing_root, model::TenantId tenant) {
  return "whsec_" + to_base64url(hmac_sha256(signing_root, "webhooks of " + tenant.text()));
}

std::string signature(std::string_view secret, std::string_view seconds, std::string_view body) {
  const auto signed_bytes = std::string(seconds) + "." + std::string(body);
  return "t=" + std::string(seconds) + ",v1=" + to_hex(hmac_sha256(secret, signed_bytes));
}

}  // namespace sluice::notices
