#include "api/console/session.h"

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "world/fake_world.h"

namespace sluice::api::console {
namespace session_test {

constexpr Timestamp now{1'000'000};

Session a_session(std::variant<AdminSession, ServiceSession> of = AdminSession{}) {
  Session session{.expires_at = {now.ms + 1000}, .of = std::move(of)};
  session.id.bytes.fill(7);
  return session;
}

const model::TenantId tenant{.ulid = {{1, 2, 3}}};

TEST(SessionSeal, A_cookie_contains_its_session) {
  const SessionSeal seal("root");
  const auto admin = seal.open(seal.cookie_of(a_session()), now);
  ASSERT_TRUE(admin);
  EXPECT_EQ(admin->id, a_session().id);
  EXPECT_EQ(admin->expires_at, a_session().expires_at);
  EXPECT_FALSE(std::get<AdminSession>(admin->of).tenant);
  const auto acting = seal.open(seal.cookie_of(a_session(AdminSession{tenant})), now);
  ASSERT_TRUE(acting);
  EXPECT_EQ(std::get<AdminSession>(acting->of).tenant, tenant);
  const auto service = seal.open(seal.cookie_of(a_session(ServiceSession{std::string(32, 'k')})), now);
  ASSERT_TRUE(service);
  EXPECT_EQ(std::get<ServiceSession>(service->of).key_sha256, std::string(32, 'k'));
}

TEST(SessionSeal, Every_changed_bit_and_every_cut_is_found) {
  const SessionSeal seal("root");
  const auto cookie = seal.cookie_of(a_session(AdminSession{tenant}));
  const auto bytes = from_base64url(cookie).value();
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    auto forged = bytes;
    forged[bit / 8] = static_cast<char>(forged[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_FALSE(seal.open(to_base64url(forged), now)) << bit;
  }
  for (std::size_t size = 0; size < cookie.size(); ++size) EXPECT_FALSE(seal.open(cookie.substr(0, size), now)) << size;
  EXPECT_FALSE(seal.open(cookie + "=", now));
  EXPECT_FALSE(seal.open(std::string(100'000, 'A'), now));
}

TEST(SessionSeal, A_cookie_of_another_server_is_refused) {
  const auto cookie = SessionSeal("one").cookie_of(a_session());
  EXPECT_TRUE(SessionSeal("one").open(cookie, now)) << "after a restart it is good";
  EXPECT_FALSE(SessionSeal("other").open(cookie, now));
}

TEST(SessionSeal, A_session_ends_at_its_time) {
  const SessionSeal seal("root");
  const auto cookie = seal.cookie_of(a_session());
  EXPECT_TRUE(seal.open(cookie, {now.ms + 999}));
  EXPECT_FALSE(seal.open(cookie, {now.ms + 1000}));
}

TEST(SessionSeal, The_csrf_token_is_the_sessions_own_and_is_no_cookie) {
  const SessionSeal seal("root");
  const auto token = seal.csrf_token(a_session());
  auto other = a_session();
  other.id.bytes[0] = 8;
  EXPECT_NE(token, seal.csrf_token(other));
  EXPECT_EQ(token, seal.csrf_token(a_session(AdminSession{tenant}))) << "acting elsewhere does not change it";
  EXPECT_NE(token, SessionSeal("other").csrf_token(a_session()));
  EXPECT_FALSE(seal.open(token, now));
}

TEST(ConsoleSession, The_cookie_is_named_after_the_port_and_bound_to_its_host_with_TLS) {
  EXPECT_EQ(cookie_name("http://127.0.0.1:8080"), "sluice_session_8080");
  EXPECT_EQ(cookie_name("http://127.0.0.1:8080/sluice"), "sluice_session_8080");
  EXPECT_EQ(cookie_name("http://[::1]:8081"), "sluice_session_8081");
  EXPECT_EQ(cookie_name("http://[::1]"), "sluice_session_80");
  EXPECT_EQ(cookie_name("https://agents.example"), "__Host-sluice_session_443");
  EXPECT_EQ(cookie_name("https://agents.example:8443/"), "__Host-sluice_session_8443");
}

TEST(FindCookie, Finds_one_among_others_and_refuses_two) {
  const auto found = [](net::Headers headers) {
    return std::string(find_cookie(headers, "sluice_session").value_or("none"));
  };
  EXPECT_EQ(found({{"Cookie", "a=b; sluice_session=x.y; c=d"}}), "x.y");
  EXPECT_EQ(found({{"cookie", "a=b"}, {"cookie", "sluice_session=xy"}}), "xy") << "HTTP/2 may send crumbs";
  EXPECT_EQ(found({{"Cookie", "a=b;sluice_session=xy"}}), "xy");
  EXPECT_EQ(found({{"Cookie", "xsluice_session=1; sluice_sessions=2; sluice_session"}}), "none");
  EXPECT_EQ(found({{"Cookie", "sluice_session=1; sluice_session=2"}}), "none");
  EXPECT_EQ(found({{"Cookie", "sluice_session=1"}, {"Cookie", "sluice_session=1"}}), "none");
  EXPECT_EQ(found({{"X-Cookie", "sluice_session=1"}}), "none");
  EXPECT_EQ(found({{"Cookie", ";;; ;"}}), "none");
}

TEST(LoginCodes, A_code_is_good_once_and_for_an_hour) {
  world::FakeLoop loop;
  world::FakeEntropy entropy;
  LoginCodes codes(loop, entropy);
  const auto code = codes.make();
  EXPECT_GE(code.size(), 22U);
  EXPECT_FALSE(codes.spend(code + "x"));
  EXPECT_FALSE(codes.spend(""));
  EXPECT_TRUE(codes.spend(code));
  EXPECT_FALSE(codes.spend(code));
  const auto late = codes.make();
  loop.advance({LoginCodes::good_us / 1000});
  EXPECT_FALSE(codes.spend(late));
}

TEST(LoginCodes, The_oldest_of_too_many_codes_are_forgotten) {
  world::FakeLoop loop;
  world::FakeEntropy entropy;
  LoginCodes codes(loop, entropy);
  const auto first = codes.make();
  const auto second = codes.make();
  for (std::size_t i = 1; i < LoginCodes::count_max; ++i) codes.make();
  EXPECT_FALSE(codes.spend(first));
  EXPECT_TRUE(codes.spend(second));
}

}  // namespace session_test
}  // namespace sluice::api::console
