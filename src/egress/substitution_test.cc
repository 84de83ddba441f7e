#include "egress/substitution.h"

#include <gtest/gtest.h>

#include <map>

namespace sluice::egress {
namespace substitution_test {

using Kind = Substitution::Kind;

// Has TOKEN everywhere, BODY in bodies only; knows of no other.
Verdict judge(std::string_view alias, model::SecretPlace place) {
  if (alias == "TOKEN") return {Verdict::Kind::go, "v&\"1\"", {}};
  if (alias == "LINES") return {Verdict::Kind::go, "two\r\nlines: x", {}};
  if (alias == "BODY" && place == model::place_body) return {Verdict::Kind::go, "b", {}};
  if (alias == "BODY") return {Verdict::Kind::refused, {}, "not here"};
  return {Verdict::Kind::missing, {}, {}};
}

struct Made {
  Substitution result;
  std::string value;  // of the field, or the query
};

Made in_field(std::string_view name, std::string_view value) {
  http::Headers fields;
  fields.add(name, value);
  std::string query;
  Made out{substitute_head(fields, query, judge), {}};
  out.value = fields.all()[0].value;
  return out;
}

Made in_query(std::string query) {
  http::Headers fields;
  const auto result = substitute_head(fields, query, judge);
  return {result, query};
}

std::string in_body(std::string_view text, Quoting quoting, std::size_t piece_size) {
  BodySubstitution body(quoting, judge);
  std::string out;
  for (; !text.empty(); text.remove_prefix(std::min(piece_size, text.size()))) {
    const auto result = body.push(text.substr(0, piece_size), out);
    if (result.kind != Kind::done)
      return out + "<" + (result.kind == Kind::missing ? "missing " : "refused ") + result.alias;
  }
  EXPECT_EQ(body.finish(out).kind, Kind::done);
  return out;
}

TEST(Substitution, Puts_values_into_header_fields) {
  EXPECT_EQ(in_field("Authorization", "Bearer {{secret:TOKEN}}").value, "Bearer v&\"1\"");
  EXPECT_EQ(in_field("X", "{{secret:TOKEN}}{{secret:TOKEN}}!").value, "v&\"1\"v&\"1\"!");
  EXPECT_EQ(in_field("X", "{{{secret:TOKEN}}}").value, "{v&\"1\"}");
  EXPECT_EQ(in_field("X", "%7B%7Bsecret%3ATOKEN%7D%7D").value, "%7B%7Bsecret%3ATOKEN%7D%7D");
  EXPECT_EQ(in_field("X", "{{secret:token}} {{secret:}} {{secret:TOKEN} {{secret:9A}}").value,
            "{{secret:token}} {{secret:}} {{secret:TOKEN} {{secret:9A}}");
}

// I-17: a value must not become another header.
TEST(Substitution, Refuses_a_value_that_would_inject_a_header) {
  EXPECT_EQ(in_field("X", "{{secret:LINES}}").result.kind, Kind::refused);
  EXPECT_EQ(in_query("?a={{secret:LINES}}").value, "?a=two%0D%0Alines%3A%20x");
}

TEST(Substitution, Says_what_is_missing_and_what_is_refused) {
  EXPECT_EQ(in_field("X", "{{secret:OTHER}}").result.kind, Kind::missing);
  EXPECT_EQ(in_field("X", "{{secret:OTHER}}").result.alias, "OTHER");
  EXPECT_EQ(in_field("X", "{{secret:BODY}}").result.kind, Kind::refused);
  EXPECT_EQ(in_field("X", "{{secret:BODY}}").result.words, "not here");
}

TEST(Substitution, Finds_an_alias_inside_Basic_credentials) {
  // "me:{{secret:TOKEN}}"
  EXPECT_EQ(in_field("authorization", "Basic bWU6e3tzZWNyZXQ6VE9LRU59fQ==").value, "Basic bWU6diYiMSI=");
  EXPECT_EQ(in_field("Authorization", "Basic bWU6eW91").value, "Basic bWU6eW91");
  EXPECT_EQ(in_field("Authorization", "Basic !!!").value, "Basic !!!");
  EXPECT_EQ(in_field("X-Other", "Basic bWU6e3tzZWNyZXQ6VE9LRU59fQ==").value, "Basic bWU6e3tzZWNyZXQ6VE9LRU59fQ==");
}

TEST(Substitution, Encodes_a_value_for_the_query_and_knows_an_encoded_alias) {
  EXPECT_EQ(in_query("?a={{secret:TOKEN}}&b").value, "?a=v%26%221%22&b");
  EXPECT_EQ(in_query("?a=%7B%7Bsecret%3ATOKEN%7D%7D").value, "?a=v%26%221%22");
  EXPECT_EQ(in_query("?a=%7b%7bsecret:TOKEN%7d%7d%").value, "?a=v%26%221%22%");
}

TEST(Substitution, Replaces_in_a_body_however_it_is_cut) {
  for (const std::size_t size : {1u, 2u, 5u, 13u, 1000u}) {
    EXPECT_EQ(in_body("a {{secret:TOKEN}} b {{secret:BODY}}{{", Quoting::none, size), "a v&\"1\" b b{{") << size;
    EXPECT_EQ(in_body("{\"k\":\"{{secret:TOKEN}}\"}", Quoting::json, size), "{\"k\":\"v&\\\"1\\\"\"}") << size;
    EXPECT_EQ(in_body("a=%7B%7Bsecret%3ATOKEN%7D%7D&b={{secret:BODY}}&c=%7B", Quoting::url, size),
              "a=v%26%221%22&b=b&c=%7B")
        << size;
    EXPECT_EQ(in_body("sent {{secret:OTHER}} kept", Quoting::none, size), "sent <missing OTHER") << size;
  }
}

TEST(Substitution, Goes_on_where_it_stopped_when_the_secret_has_come) {
  std::map<std::string, std::string, std::less<>> there;
  BodySubstitution body(Quoting::none, [&](std::string_view alias, model::SecretPlace) -> Verdict {
    const auto at = there.find(alias);
    if (at == there.end()) return {Verdict::Kind::missing, {}, {}};
    return {Verdict::Kind::go, at->second, {}};
  });
  std::string out;
  EXPECT_EQ(body.push("a{{secret:X}}b{{secret:Y}}c", out).alias, "X");
  EXPECT_EQ(out, "a");
  there["X"] = "1";
  EXPECT_EQ(body.push("", out).alias, "Y");
  there["Y"] = "2";
  EXPECT_EQ(body.push("d", out).kind, Kind::done);
  EXPECT_EQ(body.finish(out).kind, Kind::done);
  EXPECT_EQ(out, "a1b2cd");
}

TEST(Substitution, The_type_of_a_body_says_how_values_are_spelt_in_it) {
  EXPECT_EQ(quoting_of("application/json; charset=utf-8"), Quoting::json);
  EXPECT_EQ(quoting_of("application/problem+json"), Quoting::json);
  EXPECT_EQ(quoting_of("Application/X-WWW-Form-Urlencoded"), Quoting::url);
  EXPECT_EQ(quoting_of("text/plain"), Quoting::none);
  EXPECT_EQ(quoting_of(std::nullopt), Quoting::none);
}

TEST(Substitution, What_is_only_talked_about_stays_as_it_is) {
  const Judge judge = [](std::string_view alias, model::SecretPlace) {
    return alias == "KEY" ? Verdict{Verdict::Kind::go, "v", {}} : Verdict{Verdict::Kind::text, {}, {}};
  };
  for (const auto quoting : {Quoting::none, Quoting::json, Quoting::url}) {
    std::string out;
    BodySubstitution body(quoting, judge);
    EXPECT_EQ(body.push("a {{secret:CRM}} {{sec", out).kind, Substitution::Kind::done);
    EXPECT_EQ(body.push("ret:CRM}}{{secret:KEY}} b", out).kind, Substitution::Kind::done);
    EXPECT_EQ(body.finish(out).kind, Substitution::Kind::done);
    EXPECT_EQ(out, "a {{secret:CRM}} {{secret:CRM}}v b");
  }
}

}  // namespace substitution_test
}  // namespace sluice::egress
