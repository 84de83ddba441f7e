#include "api/authentication.h"

#include "api/api_fixture.h"

namespace sluice::api {
namespace {

using AuthenticationTest = ApiTest;

TEST_F(AuthenticationTest, The_scheme_is_read_whatever_its_case_and_spacing) {
  for (const auto& header : Texts{"Bearer " + acme.key, "bearer   " + acme.key, "BEARER " + acme.key + " "}) {
    EXPECT_EQ(ask_as("GET", "/v1/runs", {.headers = {{"authorization", header}}})->status, 200) << header;
  }
  for (const auto& header : Texts{acme.key, "Basic " + acme.key, "Bearer", "Bearer ", "Bearer x " + acme.key,
                                  "Bearer " + std::string(5000, 'a')}) {
    EXPECT_EQ(ask_as("GET", "/v1/runs", {.headers = {{"Authorization", header}}})->status, 401) << header;
  }
}

TEST_F(AuthenticationTest, Two_credentials_are_none) {
  const net::Headers twice = {{"Authorization", "Bearer " + acme.key}, {"authorization", "Bearer " + acme.key}};
  EXPECT_EQ(ask_as("GET", "/v1/runs", {.headers = twice})->status, 401);
}

TEST_F(AuthenticationTest, A_revoked_key_stops_at_once_although_it_was_remembered) {
  EXPECT_EQ(get("/v1/runs")->status, 200);
  admin("DELETE", "/v1/tenants/" + acme.id.text() + "/keys/" + acme.key_id.text());
  EXPECT_EQ(get("/v1/runs")->status, 401);
}

TEST_F(AuthenticationTest, A_key_revoked_by_somebody_else_stops_when_the_memory_ends) {
  EXPECT_EQ(get("/v1/runs")->status, 200);
  store.revoke_service_key(acme.id, acme.key_id, loop.now(), [](Result<model::ServiceKey> key) { ASSERT_TRUE(key); });
  loop.settle();
  loop.advance({Authentication::remembered_us / 1000});
  EXPECT_EQ(get("/v1/runs")->status, 401);
}

TEST_F(AuthenticationTest, A_lookup_under_way_during_a_revocation_is_not_remembered_after_it) {
  Authentication authentication(store, loop, sha256(admin_key));
  int answers = 0;
  disk.hold_answers(true);
  const std::string header = "Bearer " + acme.key;
  authentication.identify(header, [&](Result<Identity> identity) {
    ASSERT_TRUE(identity);
    ++answers;
  });
  store.revoke_service_key(acme.id, acme.key_id, loop.now(), [](Result<model::ServiceKey>) {});
  authentication.forget();
  disk.hold_answers(false);
  loop.settle();
  authentication.identify(header, [&](Result<Identity> identity) {
    ASSERT_TRUE(identity);
    EXPECT_TRUE(std::holds_alternative<Nobody>(identity.value()));
    ++answers;
  });
  loop.settle();
  EXPECT_EQ(answers, 2);
}

TEST_F(AuthenticationTest, A_remembered_key_does_not_ask_the_store_again) {
  get("/v1/runs");
  disk.hold_answers(true);
  const auto answer = get("/v1/conversations?limit=0");  // refused before the store is needed
  EXPECT_EQ(answer->status, 422);
  disk.hold_answers(false);
}

}  // namespace
}  // namespace sluice::api
