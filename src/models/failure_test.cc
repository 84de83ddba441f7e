#include <gtest/gtest.h>

#include "base/bytes.h"
#include "models/models.h"

namespace sluice::models {
namespace failure_test {

Failure failure(int status, std::optional<std::string_view> retry_after, std::string_view body) {
  return find_dialect("anthropic")->failure(status, retry_after, body);
}

TEST(Failure, Dialects_are_found_by_name) {
  for (const std::string_view name : {"anthropic", "openai-responses", "openai-chat"}) {
    const auto* dialect = find_dialect(name);
    ASSERT_NE(dialect, nullptr) << name;
    EXPECT_EQ(dialect->name(), name);
    EXPECT_TRUE(dialect->default_base_url().starts_with("https://"));
    EXPECT_TRUE(dialect->key_variable().ends_with("_API_KEY"));
  }
  EXPECT_EQ(find_dialect("offline"), nullptr);
  EXPECT_EQ(find_dialect(""), nullptr);
}

TEST(Failure, The_status_says_what_may_be_done) {
  const std::pair<int, FailureClass> cases[] = {
      {400, FailureClass::rejected},     {401, FailureClass::unauthorized}, {403, FailureClass::unauthorized},
      {404, FailureClass::rejected},     {413, FailureClass::rejected},     {429, FailureClass::rate_limited},
      {500, FailureClass::server_error}, {502, FailureClass::server_error}, {503, FailureClass::overloaded},
      {529, FailureClass::overloaded},   {302, FailureClass::garbled},      {0, FailureClass::garbled},
  };
  for (const auto& [status, expected] : cases) {
    for (const std::string_view name : {"anthropic", "openai-responses", "openai-chat"}) {
      EXPECT_EQ(find_dialect(name)->failure(status, std::nullopt, "").failure_class, expected) << status;
    }
  }
}

TEST(Failure, The_providers_words_are_found_in_every_shape) {
  EXPECT_EQ(failure(400, {}, R"({"type":"error","error":{"type":"invalid_request_error","message":"Too long"}})").what,
            "status 400: Too long");
  EXPECT_EQ(failure(404, {}, R"({"error":"model not found"})").what, "status 404: model not found");
  EXPECT_EQ(failure(422, {}, R"({"detail":[{"loc":["body"]}]})").what, R"(status 422: [{"loc":["body"]}])");
  EXPECT_EQ(failure(400, {}, R"([{"error":{"code":400,"message":"Bad"}}])").what, "status 400: Bad");
  EXPECT_EQ(failure(400, {}, R"({"message":"Plain"})").what, "status 400: Plain");
  EXPECT_EQ(failure(502, {}, "<html>Bad Gateway</html>").what, "status 502: <html>Bad Gateway</html>");
  EXPECT_EQ(failure(502, {}, "").what, "status 502");
  EXPECT_EQ(failure(502, {}, "\xff\xfe").what, "status 502: an answer that is not UTF-8");
}

TEST(Failure, A_quota_that_no_waiting_lifts_is_not_retried) {
  const auto used_up =
      failure(429, "1", R"({"error":{"message":"Pay","type":"insufficient_quota","code":"insufficient_quota"}})");
  EXPECT_EQ(used_up.failure_class, FailureClass::rejected);
  EXPECT_EQ(failure(429, "1", R"({"error":{"code":"rate_limit_exceeded"}})").failure_class, FailureClass::rate_limited);
}

TEST(Failure, Retry_after_is_read_in_seconds) {
  EXPECT_EQ(failure(429, "7", "").retry_after_ms, 7000);
  EXPECT_EQ(failure(429, "0.25", "").retry_after_ms, 250);
  EXPECT_EQ(failure(429, "99999999999999", "").retry_after_ms, 86'400'000);
  for (const std::string_view odd : {"", "-1", "soon", "1s", "nan", "inf", "Wed, 21 Oct 2015 07:28:00 GMT"}) {
    EXPECT_EQ(failure(429, odd, "").retry_after_ms, std::nullopt) << odd;
  }
  EXPECT_EQ(failure(429, std::nullopt, "").retry_after_ms, std::nullopt);
}

TEST(Failure, Long_words_are_cut_between_characters) {
  for (int shift = 0; shift < 4; ++shift) {
    std::string page(shift, 'x');
    for (int i = 0; i < 500; ++i) page += "😀";
    const auto what = failure(500, {}, page).what;
    EXPECT_LT(what.size(), 530u);
    EXPECT_TRUE(is_utf8(what));
    EXPECT_TRUE(what.ends_with("…"));
  }
}

TEST(Failure, A_key_that_the_provider_repeats_goes_no_further) {
  const auto what =
      failure(401, {}, R"({"error":{"message":"Incorrect key: sk-proj-Ab_9*** (see sk-x) please"}})").what;
  EXPECT_EQ(what, "status 401: Incorrect key: sk-… (see sk-…) please");
}

}  // namespace failure_test
}  // namespace sluice::models
