// S-1: what POST /stream refuses before any token is used, and how it says so.
#include "station/station_fixture.h"

namespace sluice::station {
namespace refusal_test {

TEST_F(StationTest, A_body_that_is_no_dispatch_is_refused_with_every_fault_at_once) {
  const auto exchange =
      post(R"({"agent_url":"ftp://x","otp_setup":"a b","otp_run":5,"otp_upload":"","prompt":""})", "profile=loud");
  EXPECT_EQ(exchange->status, 422);
  EXPECT_EQ(exchange->header("Content-Type"), "application/problem+json");
  EXPECT_FALSE(exchange->header("X-Request-Id").empty());
  EXPECT_EQ(exchange->slug(), "validation-error");
  const auto errors = exchange->member("errors");
  for (const auto* pointer :
       {"\"/agent_url\"", "\"/otp_setup\"", "\"/otp_run\"", "\"/otp_upload\"", "\"/prompt\"", "\"profile\""}) {
    EXPECT_NE(errors.find(pointer), std::string::npos) << pointer;
  }
  EXPECT_TRUE(client_.requests.empty());
}

TEST_F(StationTest, What_is_missing_is_named) {
  const auto exchange = post("{}");
  EXPECT_EQ(exchange->status, 422);
  EXPECT_EQ(exchange->member("errors"),
            R"([{"pointer":"/agent_url","message":"is required"},{"pointer":"/otp_setup","message":"is required"},)"
            R"({"pointer":"/otp_run","message":"is required"},{"pointer":"/prompt","message":"is required"}])");
  EXPECT_EQ(post("[]")->status, 422);
  EXPECT_EQ(post("{")->status, 400);
  EXPECT_EQ(post("")->status, 400);
}

TEST_F(StationTest, Members_that_nobody_knows_are_ignored_and_null_is_no_upload_token) {
  EXPECT_EQ(post(body(R"(,"otp_upload":null,"extra":{"a":1})"))->status, 200);
}

TEST_F(StationTest, Only_workspaces_that_are_allowed_are_called) {
  for (const auto* url : {"http://other.example", "http://workspace.example.thief.example", "https://workspace.example",
                          "http://user:password@workspace.example", "http://workspace.example/a?b",
                          "http://workspace.example/%2e%2e", "http://workspace.example/a\\nb", "file:///etc/passwd"}) {
    const auto exchange =
        post(R"({"agent_url":")" + std::string(url) + R"(","otp_setup":"a","otp_run":"b","prompt":"c"})");
    EXPECT_EQ(exchange->status, 422) << url;
  }
  EXPECT_TRUE(client_.requests.empty());
}

TEST_F(StationTest, Whoever_reaches_an_open_workspace_rule_may_not_smuggle_a_url) {
  options_.agent_urls = {"*"};
  EXPECT_EQ(post(R"({"agent_url":"http://a@b","otp_setup":"a","otp_run":"b","prompt":"c"})")->status, 422);
  EXPECT_EQ(post(R"({"agent_url":"http://anywhere:1","otp_setup":"a","otp_run":"b","prompt":"c"})")->status, 200);
}

TEST_F(StationTest, Of_two_keys_none_counts) {
  options_.runner_key_sha256 = sha256("right");
  const auto exchange = post(body(), "", {{"Authorization", "Bearer right"}, {"authorization", "Bearer right"}});
  EXPECT_EQ(exchange->status, 401);
}

TEST_F(StationTest, A_stranger_is_turned_away_before_the_body) {
  options_.runner_key_sha256 = sha256("right");
  const auto check = [&](std::string method, std::string path, net::Headers headers) {
    const auto answer =
        station().check_head({.method = std::move(method), .path = std::move(path), .headers = headers});
    if (answer) EXPECT_EQ(answer->headers.find("Content-Type"), "application/problem+json");
    return answer ? answer->status : 0;
  };
  for (const auto* path : {"/stream", "/sandbox/stream", "/stream/name/ack", "/drain"}) {
    EXPECT_EQ(check("POST", path, {}), 401) << path;
    EXPECT_EQ(check("POST", path, {{"Authorization", "Bearer wrong"}}), 401) << path;
    EXPECT_EQ(check("POST", path, {{"Authorization", "Bearer right"}}), 0) << path;
    EXPECT_EQ(check("PUT", path, {{"Authorization", "Bearer right"}}), 405) << path;
  }
  EXPECT_EQ(check("POST", "/elsewhere", {}), 404);
}

TEST_F(StationTest, The_runner_key_is_asked_for_where_there_is_one) {
  options_.runner_key_sha256 = sha256("right");
  for (const auto* given : {"", "right", "Bearer wrong", "Bearer ", "bearer"}) {
    const auto exchange = post(body(), "", {{"Authorization", given}});
    EXPECT_EQ(exchange->status, 401) << given;
    EXPECT_EQ(exchange->slug(), "unauthenticated");
    EXPECT_EQ(exchange->header("WWW-Authenticate"), "Bearer");
  }
  EXPECT_EQ(post(body(), "", {{"Authorization", "Bearer right"}})->status, 200);
}

TEST_F(StationTest, Other_methods_are_refused) {
  auto exchange = std::make_shared<api::FakeExchange>(net::Request{"GET", "/stream", "", {}, "", ""});
  station().handle(exchange);
  EXPECT_EQ(exchange->status, 405);
  EXPECT_EQ(exchange->header("Allow"), "POST");
}

TEST_F(StationTest, A_full_runner_says_when_to_come_again) {
  options_.concurrent_max = 1;
  const auto first = at_work();
  const auto second = post(body());
  EXPECT_EQ(second->status, 503);
  EXPECT_EQ(second->slug(), "unavailable");
  EXPECT_EQ(second->header("Retry-After"), "5");
  first->hang_up();
  loop_.advance(Millis{0});
  EXPECT_EQ(post(body())->status, 200);
}

}  // namespace refusal_test
}  // namespace sluice::station
