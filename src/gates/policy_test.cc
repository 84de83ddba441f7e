// Policies: precedence, hosts, files, secrets, and what a rule may be.
#include <gtest/gtest.h>

#include <algorithm>

#include "gates/gates.h"

namespace sluice::gates {
namespace policy_test {

using model::Effect;
using model::Policy;
using model::PolicyRule;
using model::Subject;

Ruling ruling(const Policy& policy, Subject subject) {
  switch (subject) {
    case Subject::tool: return rule_on_tool(policy, "x");
    case Subject::command: return rule_on_command(policy, "x");
    case Subject::file: return rule_on_file(policy, "x");
    case Subject::host: return rule_on_host(policy, "x");
  }
  return {};
}

constexpr Subject subjects[] = {Subject::tool, Subject::command, Subject::file, Subject::host};
constexpr Effect effects[] = {Effect::allow, Effect::ask, Effect::deny};

// Every policy of up to three rules that match, in every order, among rules that do not.
TEST(Policies, Deny_goes_over_ask_over_allow_in_every_order) {
  for (const auto subject : subjects) {
    for (int code = 0; code < 4 * 4 * 4; ++code) {
      Policy policy = {{Effect::deny, subject, "other", "", {}}};
      std::optional<Effect> strictest;
      for (int rest = code; rest > 0; rest /= 4) {
        if (rest % 4 == 3) continue;
        const auto effect = effects[rest % 4];
        policy.push_back({effect, subject, "x", std::string(name_of(effect)), {}});
        strictest = strictest ? std::max(*strictest, effect) : effect;
      }
      for (const auto other : subjects) {
        if (other != subject) policy.push_back({Effect::deny, other, "*", "", {}});
      }
      const auto got = ruling(policy, subject);
      const auto otherwise = subject == Subject::host ? Effect::deny : Effect::allow;
      EXPECT_EQ(got.effect, strictest.value_or(otherwise)) << name_of(subject) << " " << code;
      EXPECT_EQ(got.pattern, strictest ? "x" : "");
      EXPECT_EQ(got.reason, strictest ? name_of(*strictest) : "");
    }
  }
}

TEST(Policies, Tools_are_matched_by_their_names) {
  const Policy policy = {{Effect::ask, Subject::tool, "mcp_*", "", {}}, {Effect::deny, Subject::tool, "bash", "", {}}};
  EXPECT_EQ(rule_on_tool(policy, "mcp_search").effect, Effect::ask);
  EXPECT_EQ(rule_on_tool(policy, "bash").effect, Effect::deny);
  EXPECT_EQ(rule_on_tool(policy, "bash2").effect, Effect::allow);
}

TEST(Policies, Files_are_matched_by_where_they_are_and_not_by_how_they_are_written) {
  const Policy policy = {{Effect::deny, Subject::file, "/etc/*", "", {}},
                         {Effect::ask, Subject::file, "secrets/*", "", {}},
                         {Effect::ask, Subject::file, "*.pem", "", {}},
                         {Effect::deny, Subject::file, "/workspace/.env", "", {}}};
  for (const std::string_view path :
       {"/etc/passwd", "//etc//passwd", "/etc/./passwd", "/workspace/../etc/passwd", "../etc/passwd",
        "../../../etc/passwd", "a/../../etc/passwd", ".env", "./.env", "/workspace/.env/", "x/../.env", "/etc/x.pem"}) {
    EXPECT_EQ(rule_on_file(policy, path).effect, Effect::deny) << path;
  }
  for (const std::string_view path : {"secrets/a", "/workspace/secrets/a/b", "x/../secrets/a", "/tmp/key.pem"}) {
    EXPECT_EQ(rule_on_file(policy, path).effect, Effect::ask) << path;
  }
  for (const std::string_view path : {"etc/passwd", "/etc", "/tmp/secrets/a", ".env.example", "", "/"}) {
    EXPECT_EQ(rule_on_file(policy, path).effect, Effect::allow) << path;
  }
}

TEST(Hosts, Have_one_spelling) {
  const std::pair<std::string_view, std::string_view> same[] = {
      {"API.Example.COM", "api.example.com"},
      {"api.example.com.", "api.example.com"},
      {"xn--bcher-kva.example", "xn--bcher-kva.example"},
      {"_dmarc.example.com", "_dmarc.example.com"},
      {"localhost", "localhost"},
      {"10.0.0.1", "10.0.0.1"},
      {"10.0.0.1.", "10.0.0.1"},
      {"[2001:DB8:0:0::1]", "2001:db8::1"},
      {"2001:db8::1", "2001:db8::1"},
      {"[::ffff:10.0.0.1]", "10.0.0.1"},
      {"::ffff:a00:1", "10.0.0.1"},
  };
  for (const auto& [host, normal] : same) EXPECT_EQ(normal_host(host), normal) << host;
}

TEST(Hosts, Odd_ones_are_none) {
  const std::string long_label(64, 'a');
  std::string long_name;
  while (long_name.size() < 256) long_name += "a.";
  for (const std::string& host : {std::string(),
                                  std::string("."),
                                  std::string("a..b"),
                                  std::string(".a"),
                                  std::string("a.."),
                                  std::string("-a.com"),
                                  std::string("a-.com"),
                                  std::string("a b.com"),
                                  std::string("a\n.com"),
                                  std::string("a/b"),
                                  std::string("a:443"),
                                  std::string("user@a"),
                                  std::string("a%2eb"),
                                  std::string("*.a.com"),
                                  std::string("b\xc3\xbc"
                                              "cher.example"),
                                  std::string("a\0b", 3),
                                  std::string("a.com\0", 6),
                                  std::string("127.1"),
                                  std::string("2130706433"),
                                  std::string("0x7f.0.0.1"),
                                  std::string("0x7f000001"),
                                  std::string("0177.0.0.1"),
                                  std::string("256.0.0.1"),
                                  std::string("1.2.3.4.5"),
                                  std::string("1.2.3.04"),
                                  std::string("[::1"),
                                  std::string("::1]"),
                                  std::string("[]"),
                                  std::string("[1.2.3.4]"),
                                  std::string("fe80::1%eth0"),
                                  std::string("[fe80::1%25eth0]"),
                                  std::string(":::"),
                                  long_label,
                                  long_name}) {
    EXPECT_EQ(normal_host(host), std::nullopt) << host;
    EXPECT_FALSE(host_matches("*", host)) << host;
    EXPECT_EQ(rule_on_host({{Effect::allow, Subject::host, "*", "", {}}}, host).effect, Effect::deny) << host;
  }
}

TEST(Hosts, Are_matched_by_name_by_wildcard_or_all) {
  EXPECT_TRUE(host_matches("api.example.com", "API.example.com."));
  EXPECT_TRUE(host_matches("API.Example.com.", "api.example.com"));
  EXPECT_TRUE(host_matches("*.example.com", "a.example.com"));
  EXPECT_TRUE(host_matches("*.example.com", "a.b.example.com"));
  EXPECT_TRUE(host_matches("*", "anything.example"));
  EXPECT_TRUE(host_matches("::1", "[0:0:0:0:0:0:0:1]"));
  EXPECT_TRUE(host_matches("[::1]", "::1"));
  EXPECT_TRUE(host_matches("10.0.0.1", "[::ffff:10.0.0.1]"));
  EXPECT_FALSE(host_matches("*.example.com", "example.com"));
  EXPECT_FALSE(host_matches("*.example.com", "badexample.com"));
  EXPECT_FALSE(host_matches("*.example.com", "a.example.com.evil.org"));
  EXPECT_FALSE(host_matches("example.com", "a.example.com"));
  EXPECT_FALSE(host_matches("*.0.0.1", "10.0.0.1"));
  EXPECT_FALSE(host_matches("", "example.com"));
  EXPECT_FALSE(host_matches("api.*.com", "api.example.com"));
}

TEST(Hosts, I_17_A_secret_may_be_used_where_a_rule_names_it_or_meets_a_host_that_it_is_bound_to) {
  const Policy policy = {{Effect::allow, Subject::host, "*.example.com", "", {"CRM_KEY"}},
                         {Effect::ask, Subject::host, "ask.example.org", "", {}},
                         {Effect::deny, Subject::host, "denied.example.net", "", {}},
                         {Effect::allow, Subject::tool, "*", "", {}}};
  EXPECT_TRUE(secret_may_be_used(policy, "CRM_KEY", {}));
  EXPECT_FALSE(secret_may_be_used(policy, "OTHER", {}));
  EXPECT_TRUE(secret_may_be_used(policy, "OTHER", {"api.example.com"}));
  EXPECT_TRUE(secret_may_be_used(policy, "OTHER", {"nowhere.net", "ASK.example.org"}));
  EXPECT_TRUE(secret_may_be_used(policy, "OTHER", {"*.example.com"}));
  EXPECT_TRUE(secret_may_be_used(policy, "OTHER", {"*.eu.example.com"}));
  EXPECT_TRUE(secret_may_be_used(policy, "OTHER", {"*"}));
  EXPECT_FALSE(secret_may_be_used(policy, "OTHER", {"denied.example.net", "example.net"}));
  EXPECT_FALSE(secret_may_be_used({}, "OTHER", {"api.example.com"}));
  EXPECT_TRUE(secret_may_be_used({{Effect::allow, Subject::host, "*", "", {"*"}}}, "OTHER", {}));
}

TEST(Hosts, I_17_A_bound_secret_goes_to_its_hosts_and_an_unbound_one_where_a_rule_names_it) {
  const Policy policy = {{Effect::allow, Subject::host, "*.example.com", "", {"CRM_KEY"}},
                         {Effect::allow, Subject::host, "all.example.org", "", {"*"}},
                         {Effect::allow, Subject::host, "plain.example.org", "", {}},
                         {Effect::ask, Subject::host, "ask.example.com", "", {}},
                         {Effect::deny, Subject::host, "bad.example.com", "", {}}};
  EXPECT_TRUE(secret_may_go(policy, "CRM_KEY", {}, "a.example.com"));
  EXPECT_FALSE(secret_may_go(policy, "OTHER", {}, "a.example.com"));
  EXPECT_TRUE(secret_may_go(policy, "OTHER", {}, "all.example.org"));
  EXPECT_FALSE(secret_may_go(policy, "CRM_KEY", {}, "plain.example.org"));
  EXPECT_FALSE(secret_may_go(policy, "CRM_KEY", {}, "elsewhere.net"));
  EXPECT_TRUE(secret_may_go(policy, "CRM_KEY", {}, "ask.example.com")) << "once it was asked for";
  EXPECT_FALSE(secret_may_go(policy, "CRM_KEY", {}, "bad.example.com"));
  EXPECT_TRUE(secret_may_go(policy, "OTHER", {"plain.example.org"}, "PLAIN.example.org."));
  EXPECT_FALSE(secret_may_go(policy, "CRM_KEY", {"plain.example.org"}, "a.example.com")) << "bound elsewhere";
  EXPECT_FALSE(secret_may_go(policy, "OTHER", {"*"}, "bad.example.com"));
  EXPECT_FALSE(secret_may_go({}, "OTHER", {}, "a.example.com"));
  EXPECT_TRUE(host_takes_secrets(policy, "a.example.com"));
  EXPECT_TRUE(host_takes_secrets(policy, "all.example.org"));
  EXPECT_FALSE(host_takes_secrets(policy, "plain.example.org"));
  EXPECT_FALSE(host_takes_secrets(policy, "elsewhere.net"));
}

TEST(Hosts, I_17_A_tunnel_may_lead_to_the_ports_of_the_web_and_to_those_that_a_rule_names_for_the_host) {
  const Policy policy = {{Effect::allow, Subject::host, "*.example.com", "", {}, {5432}},
                         {Effect::ask, Subject::host, "a.example.com", "", {}, {22}},
                         {Effect::allow, Subject::host, "other.net", "", {}}};
  EXPECT_TRUE(may_reach_port(policy, "other.net", 443));
  EXPECT_TRUE(may_reach_port(policy, "a.example.com", 5432));
  EXPECT_TRUE(may_reach_port(policy, "A.example.com.", 22));
  EXPECT_FALSE(may_reach_port(policy, "b.example.com", 22));
  EXPECT_FALSE(may_reach_port(policy, "other.net", 5432));
  EXPECT_TRUE(may_reach_port(policy, "other.net", 80));
  EXPECT_FALSE(may_reach_port(policy, "a.example.com", 5433));
}

TEST(Rules, That_can_be_meant_are_taken) {
  for (const auto& rule : std::vector<PolicyRule>{
           {Effect::deny, Subject::command, "git push *", "", {}},
           {Effect::ask, Subject::tool, "*", "", {}},
           {Effect::deny, Subject::file, std::string(255, 'x'), "", {}},
           {Effect::allow, Subject::host, "*", "", {"*"}},
           {Effect::allow, Subject::host, "*.example.com", "", {"CRM_API_KEY", "*"}},
           {Effect::allow, Subject::host, "Example.com.", "", {}},
           {Effect::deny, Subject::host, "10.0.0.1", "", {}},
           {Effect::deny, Subject::host, "[2001:db8::1]", "", {}},
           {Effect::deny, Subject::host, "2001:db8::1", "", {}},
           {Effect::allow, Subject::host, "db.example.com", "", {}, {5432}},
           {Effect::ask, Subject::host, "db.example.com", "", {}, {5432}},
       }) {
    EXPECT_TRUE(check_rule(rule)) << rule.pattern;
  }
}

TEST(Rules, That_cannot_be_meant_are_refused_in_words) {
  const std::pair<PolicyRule, std::string_view> refused[] = {
      {{Effect::deny, Subject::tool, "", "", {}}, "empty"},
      {{Effect::deny, Subject::tool, std::string(256, 'x'), "", {}}, "at most 255"},
      {{Effect::deny, Subject::command, "a\nb", "", {}}, "control character"},
      {{Effect::deny, Subject::command, "a\x7f", "", {}}, "control character"},
      {{Effect::deny, Subject::command, std::string("a\0b", 3), "", {}}, "control character"},
      {{Effect::allow, Subject::host, "https://example.com", "", {}}, "without a scheme"},
      {{Effect::allow, Subject::host, "example.com/path", "", {}}, "without a path"},
      {{Effect::allow, Subject::host, "example.com:443", "", {}}, "no port"},
      {{Effect::allow, Subject::host, "api.*.com", "", {}}, "its * first"},
      {{Effect::allow, Subject::host, "*example.com", "", {}}, "its * first"},
      {{Effect::allow, Subject::host, "*.*.com", "", {}}, "its * first"},
      {{Effect::allow, Subject::host, "*.", "", {}}, "a name or an address"},
      {{Effect::allow,
        Subject::host,
        "b\xc3\xbc"
        "cher.example",
        "",
        {}},
       "xn--"},
      {{Effect::allow, Subject::host, "127.1", "", {}}, "a name or an address"},
      {{Effect::allow, Subject::host, "*.10.0.0.1", "", {}}, "no names below it"},
      {{Effect::allow, Subject::host, "*.[::1]", "", {}}, "no names below it"},
      {{Effect::ask, Subject::host, "example.com", "", {"KEY"}}, "only a rule that allows a host"},
      {{Effect::deny, Subject::host, "example.com", "", {"KEY"}}, "only a rule that allows a host"},
      {{Effect::allow, Subject::command, "curl *", "", {"KEY"}}, "only a rule that allows a host"},
      {{Effect::allow, Subject::host, "example.com", "", {"key"}}, "aliases"},
      {{Effect::deny, Subject::host, "example.com", "", {}, {22}}, "names ports"},
      {{Effect::allow, Subject::tool, "bash", "", {}, {22}}, "names ports"},
      {{Effect::allow, Subject::host, "example.com", "", {"KEY", ""}}, "aliases"},
  };
  for (const auto& [rule, words] : refused) {
    const auto checked = check_rule(rule);
    ASSERT_FALSE(checked) << rule.pattern;
    EXPECT_EQ(checked.error().kind, ErrorKind::invalid);
    EXPECT_NE(checked.error().what.find(words), std::string::npos) << checked.error().what;
  }
}

}  // namespace policy_test
}  // namespace sluice::gates
