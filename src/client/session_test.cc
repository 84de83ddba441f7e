// I-24: never re-send; after a cut, read on or reconcile.
#include <gtest/gtest.h>

#include "client/client.h"
#include "world/fake_world.h"

namespace sluice::client {
namespace session_test {

using Kind = Outcome::Kind;

constexpr std::string_view message =
    R"({"object":"message","id":"msg_1","role":"assistant","content":"Grüße 🌊","status":"completed"})";

std::string line(int64_t seq, std::string_view type, std::string_view data) {
  return R"({"object":"conversation.event","type":")" + std::string(type) +
         R"(","conversation_id":"con_1","message_id":"msg_1","seq":)" + std::to_string(seq) + R"(,"data":)" +
         std::string(data) + "}\n";
}

std::vector<std::string> golden_lines() {
  return {line(0, "message_start", R"({"role":"assistant"})"), line(1, "content_delta", R"({"text":"Grüße "})"),
          line(2, "content_delta", R"({"text":"🌊"})"),
          line(3, "message_end", R"({"message":)" + std::string(message) + "}")};
}

std::string golden_bytes(std::size_t from = 0) {
  std::string bytes;
  const auto lines = golden_lines();
  for (std::size_t i = from; i < lines.size(); ++i) bytes += lines[i];
  return bytes;
}

struct Answer {
  int status = 200;
  net::Headers headers;
  std::string body;
  std::optional<net::CallFailure> failure;
  int64_t lasts_ms = 0;  // from the head to the body
};

Answer stream_of(std::string bytes, net::Headers extra = {}) {
  extra.add("Content-Type", "application/x-ndjson");
  return {200, extra, std::move(bytes), std::nullopt};
}
Answer json_of(int status, std::string body) {
  return {status, {{"Content-Type", "application/json"}}, std::move(body), {}};
}
Answer failing(net::CallFailure failure) { return {0, {}, "", failure}; }
Answer history(std::string_view status) {
  return json_of(200, R"({"object":"list","data":[{"id":"msg_2","status":"completed"},{"id":"msg_1","status":")" +
                          std::string(status) + R"("}],"has_more":false,"next_cursor":null})");
}

// A scripted server that keeps the requests it got.
class ScriptedServer final : public net::Client {
 public:
  ScriptedServer(world::Loop& loop, std::function<Answer(const net::ClientRequest&)> answer)
      : loop_(loop), answer_(std::move(answer)) {}

  std::unique_ptr<net::Call> call(net::ClientRequest request, net::CallListener& listener) override {
    asked.push_back(request.method + " " + request.url.substr(std::string_view("http://s").size()));
    auto call = std::make_unique<Scripted>();
    const auto answer = answer_(request);
    call->head = loop_.after({0}, [&listener, answer] {
      if (answer.status != 0) listener.on_head(answer.status, answer.headers);
    });
    call->rest =
        loop_.after({answer.lasts_ms}, [&listener, call = call.get(), answer] { call->deliver(listener, answer); });
    return call;
  }
  std::size_t count(std::string_view prefix) const {
    return static_cast<std::size_t>(
        std::count_if(asked.begin(), asked.end(), [&](const auto& a) { return a.starts_with(prefix); }));
  }
  std::vector<std::string> asked;

 private:
  struct Scripted final : net::Call {
    world::Timer head, rest;
    bool delivering = false;
    ~Scripted() override { EXPECT_FALSE(delivering) << "dropped from inside its own callback"; }
    void deliver(net::CallListener& listener, const Answer& answer) {
      delivering = true;
      if (!answer.body.empty()) listener.on_body(answer.body);
      listener.on_end({answer.failure, answer.failure ? "the connection broke" : ""});
      delivering = false;
    }
  };
  world::Loop& loop_;
  std::function<Answer(const net::ClientRequest&)> answer_;
};

class SessionTest : public testing::Test {
 protected:
  void serve(std::function<Answer(const net::ClientRequest&)> answer) {
    server = std::make_unique<ScriptedServer>(loop, std::move(answer));
    outcome.reset();
    received.clear();
    links.clear();
  }
  void send(net::Headers headers = {}) {
    Session session({"http://s/", "sk_int_x"}, options, *server, loop);
    const auto pending = session.send_message("con_1", R"({"content":"hi"})", std::move(headers), hearing(),
                                              [this](Outcome end) { outcome = std::move(end); });
    loop.advance({passing_ms});
  }
  Hearing hearing() {
    return {[this](const Event& event) { received += event.line + "\n"; },
            [this](Link link) { links += link == Link::lost ? "lost " : "back "; }};
  }
  static bool is_post(const net::ClientRequest& request) { return request.method == "POST"; }

  world::FakeLoop loop;
  SessionOptions options;
  int64_t passing_ms = 60'000;
  std::unique_ptr<ScriptedServer> server;
  std::optional<Outcome> outcome;
  std::string received, links;
};

TEST_F(SessionTest, A_whole_stream_needs_one_request) {
  serve([](const auto& request) {
    EXPECT_EQ(request.headers.find("Authorization"), "Bearer sk_int_x");
    return stream_of(golden_bytes());
  });
  send();
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->kind, Kind::completed);
  EXPECT_EQ(outcome->json, message);
  EXPECT_EQ(received, golden_bytes());
  EXPECT_EQ(server->asked, std::vector<std::string>{"POST /v1/conversations/con_1/messages"});
}

TEST_F(SessionTest, I_24_A_stream_that_is_cut_at_any_byte_is_resumed_and_every_event_is_delivered_once) {
  const auto whole = golden_bytes();
  for (std::size_t cut = 0; cut < whole.size(); ++cut) {
    serve([&](const net::ClientRequest& request) {
      if (is_post(request)) return stream_of(whole.substr(0, cut), {{"X-Message-Id", "msg_1"}});
      const auto after = request.url.find("?after=");
      return stream_of(golden_bytes(after == std::string::npos ? 0 : std::stoul(request.url.substr(after + 7)) + 1));
    });
    send();
    ASSERT_TRUE(outcome) << "cut at " << cut;
    EXPECT_EQ(outcome->kind, Kind::completed);
    EXPECT_EQ(outcome->json, message);
    EXPECT_EQ(received, whole) << "cut at " << cut;
    EXPECT_EQ(server->count("POST"), 1u);
    EXPECT_EQ(server->count("GET /v1/messages/msg_1/events"), 1u);
  }
}

TEST_F(SessionTest, I_24_Cut_at_every_byte_polling_alone_ends_in_the_same_message) {
  options.reattach = false;
  const auto whole = golden_bytes();
  for (std::size_t cut = 0; cut < whole.size(); ++cut) {
    int polls = 0;
    serve([&](const net::ClientRequest& request) {
      if (is_post(request)) {
        auto answer = stream_of(whole.substr(0, cut), {{"X-Message-Id", "msg_1"}});
        answer.failure = net::CallFailure::cut;
        return answer;
      }
      if (++polls < 3) return history("in_progress");
      return json_of(200, R"({"data":[)" + std::string(message) + "]}");
    });
    send();
    ASSERT_TRUE(outcome) << "cut at " << cut;
    EXPECT_EQ(outcome->kind, Kind::completed);
    EXPECT_EQ(outcome->json, message);
    EXPECT_EQ(polls, 3);
    EXPECT_EQ(server->count("POST"), 1u);
  }
}

TEST_F(SessionTest, I_24_A_gap_is_reconciled) {
  const auto lines = golden_lines();
  serve([&](const net::ClientRequest& request) {
    if (is_post(request)) return stream_of(lines[0] + lines[2], {{"X-Message-Id", "msg_1"}});
    return stream_of(golden_bytes());
  });
  send();
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->kind, Kind::completed);
  EXPECT_EQ(received, golden_bytes());
}

TEST_F(SessionTest, A_server_without_reattach_is_polled) {
  serve([&](const net::ClientRequest& request) {
    if (is_post(request)) return stream_of(golden_lines()[0]);
    if (request.url.find("/events") != std::string::npos) return json_of(404, "{}");
    return history("completed");
  });
  send();
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->kind, Kind::completed);
  EXPECT_EQ(server->asked.back(), "GET /v1/conversations/con_1/messages?order=desc&limit=100");
}

TEST_F(SessionTest, A_failed_run_is_reported_with_its_problem_or_by_its_message) {
  serve([](const auto&) { return stream_of(line(0, "error", R"({"title":"Model error"})")); });
  send();
  EXPECT_EQ(outcome->kind, Kind::failed);
  EXPECT_EQ(outcome->json, R"({"title":"Model error"})");

  options.reattach = false;
  serve([](const auto& request) { return is_post(request) ? stream_of(golden_lines()[0]) : history("failed"); });
  send();
  EXPECT_EQ(outcome->kind, Kind::failed);
  EXPECT_EQ(outcome->json, R"({"id":"msg_1","status":"failed"})");
}

TEST_F(SessionTest, A_refusal_is_handed_on_and_not_tried_again) {
  serve([](const auto&) { return json_of(503, R"({"title":"Unavailable"})"); });
  send();
  EXPECT_EQ(outcome->kind, Kind::refused);
  EXPECT_EQ(outcome->status, 503);
  EXPECT_EQ(server->asked.size(), 1u);
}

TEST_F(SessionTest, I_24_Without_a_name_or_a_key_the_outcome_is_unknown_and_nothing_is_sent_again) {
  serve([](const auto&) { return failing(net::CallFailure::cut); });
  send();
  EXPECT_EQ(outcome->kind, Kind::unknown);
  EXPECT_EQ(outcome->detail, "the connection broke; the message may or may not have been accepted");
  EXPECT_EQ(server->asked.size(), 1u);
}

TEST_F(SessionTest, I_24_With_an_idempotency_key_the_request_is_repeated_which_replays) {
  int posts = 0;
  serve([&](const net::ClientRequest& request) {
    EXPECT_EQ(request.headers.find("Idempotency-Key"), "k1");
    ++posts;
    if (posts == 1) return failing(net::CallFailure::cut);
    if (posts == 2) return json_of(503, "{}");
    return stream_of(golden_bytes());
  });
  send({{"Idempotency-Key", "k1"}});
  EXPECT_EQ(outcome->kind, Kind::completed);
  EXPECT_EQ(received, golden_bytes());
  EXPECT_EQ(posts, 3);
}

TEST_F(SessionTest, A_server_that_was_never_there_is_said_at_once) {
  serve([](const auto&) { return failing(net::CallFailure::unreachable); });
  send({{"Idempotency-Key", "k1"}});
  EXPECT_EQ(outcome->kind, Kind::unknown);
  EXPECT_EQ(outcome->detail, "the connection broke; nothing was sent");
  EXPECT_EQ(server->asked.size(), 1u);
}

TEST_F(SessionTest, Waits_double_up_to_a_bound_and_end_when_the_server_stays_away) {
  options = {.poll_first_ms = 500, .poll_ms_max = 4'000, .give_up_ms = 20'000};
  std::vector<int64_t> at_ms;
  serve([&](const net::ClientRequest& request) {
    if (is_post(request)) return stream_of(golden_lines()[0]);
    at_ms.push_back(loop.monotonic_us() / 1000);
    return failing(net::CallFailure::unreachable);
  });
  send();
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->kind, Kind::unknown);
  ASSERT_GE(at_ms.size(), 6u);
  EXPECT_EQ(at_ms[1] - at_ms[0], 1'000);
  EXPECT_EQ(at_ms[2] - at_ms[1], 2'000);
  EXPECT_EQ(at_ms[3] - at_ms[2], 4'000);
  EXPECT_EQ(at_ms[5] - at_ms[4], 4'000);
}

TEST_F(SessionTest, A_long_outage_and_its_end_are_each_reported_once) {
  const auto away_for = [this](int64_t ms) {
    serve([this, back_us = loop.monotonic_us() + ms * 1000](const auto& request) {
      if (is_post(request)) return stream_of(golden_lines()[0]);
      if (loop.monotonic_us() < back_us) return failing(net::CallFailure::unreachable);
      return stream_of(golden_bytes(1));
    });
    send();
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->kind, Kind::completed);
  };
  away_for(options.outage_notice_ms - 2'000);
  EXPECT_EQ(links, "");
  away_for(30'000);
  EXPECT_EQ(links, "lost back ");
  EXPECT_EQ(loop.timer_count(), 0u);
}

TEST_F(SessionTest, A_stream_that_is_cut_long_after_its_beginning_is_read_on) {
  serve([](const net::ClientRequest& request) {
    auto answer = stream_of(golden_bytes(is_post(request) ? 0 : 1));
    if (is_post(request)) answer.body = golden_lines()[0];
    if (is_post(request)) answer.lasts_ms = 2 * SessionOptions{}.give_up_ms;
    return answer;
  });
  passing_ms = 3 * SessionOptions{}.give_up_ms;
  send();
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->kind, Kind::completed) << outcome->detail;
  EXPECT_EQ(received, golden_bytes());
}

TEST_F(SessionTest, Dropping_the_handle_ends_it_quietly) {
  passing_ms = 0;
  serve([](const auto&) { return stream_of(golden_lines()[0]); });
  send();
  loop.advance({60'000});
  EXPECT_FALSE(outcome);
  EXPECT_EQ(loop.timer_count(), 0u);
}

TEST_F(SessionTest, Follows_a_message_that_exists) {
  serve([](const auto&) { return stream_of(golden_bytes(2)); });
  Session session({"http://s", ""}, options, *server, loop);
  const auto pending = session.follow("msg_1", 1, hearing(), [this](Outcome end) { outcome = end; });
  loop.advance({1'000});
  ASSERT_TRUE(outcome);
  EXPECT_EQ(server->asked, std::vector<std::string>{"GET /v1/messages/msg_1/events?after=1"});
  EXPECT_EQ(received, golden_bytes(2));
}

TEST_F(SessionTest, A_plain_request_answers_once) {
  serve([](const auto&) { return json_of(404, "{}"); });
  Session session({"http://s", "k"}, options, *server, loop);
  std::optional<Result<Reply>> reply;
  std::unique_ptr<Pending> pending;
  pending = session.request("GET", "/v1/runs", "", {}, [&](Result<Reply> r) {
    reply.emplace(std::move(r));
    pending.reset();
  });
  loop.advance({1});
  ASSERT_TRUE(reply && *reply);
  EXPECT_EQ(reply->value().status, 404);
}

}  // namespace session_test
}  // namespace sluice::client
