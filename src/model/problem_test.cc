#include "model/problem.h"

#include <gtest/gtest.h>

#include <set>

namespace sluice::model {
namespace problem_test {

std::string body_of(const Problem& problem, const ProblemContext& context) {
  std::string out;
  append_json(out, problem, context);
  return out;
}

// I-4: RFC 9457, with the members of the contract.
TEST(Problem, Is_spelt_as_RFC_9457_has_it) {
  EXPECT_EQ(body_of({.slug = Slug::conversation_busy,
                     .detail = "It answers another message.",
                     .conflicting_resource_id = "run_1"},
                    {.base_url = "http://h", .instance = "/v1/x", .request_id = "req_1"}),
            R"({"type":"http://h/problems/conversation-busy","title":"The conversation is answering another message",)"
            R"("status":409,"detail":"It answers another message.","instance":"/v1/x","request_id":"req_1",)"
            R"("conflicting_resource_id":"run_1"})");
}

TEST(Problem, Leaves_out_what_it_does_not_know) {
  EXPECT_EQ(body_of({.slug = Slug::not_found}, {.base_url = "http://h"}),
            R"({"type":"http://h/problems/not-found","title":"There is no such thing","status":404})");
}

TEST(Problem, Names_every_field_that_is_wrong) {
  const std::string text =
      body_of({.slug = Slug::validation_error, .errors = {{"/content", "is \"empty\""}, {"limit", "is 0"}}}, {});
  EXPECT_NE(
      text.find(R"("errors":[{"pointer":"/content","message":"is \"empty\""},{"pointer":"limit","message":"is 0"}])"),
      std::string::npos);
}

TEST(ProblemRegistry, Is_complete_and_says_what_to_do) {
  std::set<std::string_view> names;
  for (const auto& entry : problem_registry()) {
    EXPECT_EQ(entry_of(entry.slug).name, entry.name);
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
    EXPECT_EQ(entry.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz-"), std::string_view::npos) << entry.name;
    EXPECT_GE(entry.status, 400) << entry.name;
    EXPECT_LE(entry.status, 599) << entry.name;
    EXPECT_FALSE(entry.title.empty()) << entry.name;
    EXPECT_TRUE(entry.remedy.ends_with('.')) << entry.name;
  }
  EXPECT_EQ(problem_registry().size(), static_cast<std::size_t>(Slug::http_version_not_supported) + 1);
}

// I-19: the requirement's status, whatever others answer.
TEST(ProblemRegistry, A_key_used_for_another_request_is_422) {
  EXPECT_EQ(entry_of(Slug::idempotency_key_conflict).status, 422);
}

}  // namespace problem_test
}  // namespace sluice::model
