// Values are found in every spelling, in whole texts and across any cut (I-17).
#include <gtest/gtest.h>

#include <random>

#include "vault/automaton.h"
#include "vault/spellings.h"
#include "vault/vault.h"

namespace sluice::vault {
namespace scrubber_test {

using Texts = std::vector<std::string>;

std::string scrubbed(const std::vector<Secret>& secrets, std::string_view text) {
  return Scrubber(secrets).scrub(text);
}

std::string in_pieces(const std::shared_ptr<const Scrubber>& scrubber, std::string_view text, auto next_size) {
  ScrubStream stream(scrubber);
  std::string scrubbed;
  while (!text.empty()) {
    const auto size = std::min<std::size_t>(next_size(), text.size());
    scrubbed += stream.push(text.substr(0, size));
    text.remove_prefix(size);
  }
  return scrubbed += stream.finish();
}

std::string base64(std::string_view bytes, std::string_view last_two = "+/") {
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789" + std::string(last_two);
  std::string out;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    uint32_t group = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      group = group << 8 | (at + i < bytes.size() ? static_cast<uint8_t>(bytes[at + i]) : 0u);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      out += at + i > bytes.size() ? '=' : digits[group >> (18 - 6 * i) & 63];
    }
  }
  return out;
}

TEST(Scrubber, Puts_the_placeholder_where_the_value_was) {
  EXPECT_EQ(scrubbed({{"CRM_API_KEY", "hunter2!"}}, "key=hunter2!, again hunter2!."),
            "key={{secret:CRM_API_KEY}}, again {{secret:CRM_API_KEY}}.");
  EXPECT_EQ(scrubbed({{"K", "hunter2!"}}, "hunter2"), "hunter2") << "a part is not the value";
  EXPECT_EQ(scrubbed({{"K", "hunter2!"}}, "hunter2hunter2!"), "hunter2{{secret:K}}");
  EXPECT_EQ(scrubbed({}, "hunter2!"), "hunter2!");
  EXPECT_EQ(scrubbed({{"K", "hunter2!"}}, ""), "");
}

TEST(Scrubber, Finds_values_among_bytes_that_are_no_text) {
  const std::string noise = {'\0', '\xff', '\xfe', '\n', '\0'};
  EXPECT_EQ(scrubbed({{"K", "hunter2!"}}, noise + "hunter2!" + noise), noise + "{{secret:K}}" + noise);
}

TEST(Scrubber, Finds_base64_of_both_alphabets_wherever_the_value_stands_in_it) {
  const std::string value = "pa>>w?rd~ÿÿ>>>???";
  const Scrubber scrubber({{"K", value}});
  for (const std::string_view last_two : {"+/", "-_"}) {
    for (const std::string before : {"", "u", "us", "user:", "user1:", "Aladdin:"}) {
      for (const std::string after : {"", "\n", "xy", "xyz"}) {
        const auto encoded = base64(before + value + after, last_two);
        const auto scrubbed = scrubber.scrub("Basic " + encoded);
        EXPECT_NE(scrubbed.find("{{secret:K}}"), std::string::npos) << encoded;
        EXPECT_LE(scrubbed.size(),
                  std::string("Basic {{secret:K}}").size() + base64(before).size() + 4 + base64(after).size() + 4);
      }
    }
  }
}

TEST(Scrubber, Finds_base64_of_the_shortest_value_when_it_stands_alone) {
  EXPECT_EQ(scrubbed({{"K", "abcd"}}, base64("abcd")), "{{secret:K}}");
}

TEST(Scrubber, Finds_each_common_way_of_encoding_for_a_url) {
  const Scrubber scrubber({{"K", "p@ss w/rd~(1)*é"}});
  for (const std::string_view encoded : {
           "p%40ss%20w%2Frd~%281%29%2A%C3%A9",  // RFC 3986
           "p%40ss%20w%2frd~%281%29%2a%c3%a9",  // with lower case digits
           "p%40ss+w%2Frd~%281%29%2A%C3%A9",    // quote_plus
           "p%40ss%20w%2Frd~(1)*%C3%A9",        // encodeURIComponent
           "p%40ss+w%2Frd%7E%281%29*%C3%A9",    // a form
           "p%40ss+w%2Frd%7E%281%29%2A%C3%A9",  // PHP
           "p%40ss%20w/rd~%281%29%2A%C3%A9",    // quote
           "p@ss%20w/rd~(1)*%C3%A9",            // encodeURI
       }) {
    EXPECT_EQ(scrubber.scrub("?q=" + std::string(encoded) + "&x"), "?q={{secret:K}}&x") << encoded;
  }
}

TEST(Scrubber, Finds_each_common_way_of_writing_a_json_string) {
  const Scrubber scrubber({{"K", "a\"b\\c/d\ne<f>&g\x01é😀"}});
  for (const std::string_view encoded : {
           R"(a\"b\\c/d\ne<f>&g\u0001é😀)",
           R"(a\"b\\c\/d\ne<f>&g\u0001é😀)",
           R"(a\"b\\c/d\ne<f>&g\u0001\u00e9\ud83d\ude00)",
           R"(a\"b\\c\/d\ne<f>&g\u0001\u00E9\uD83D\uDE00)",
           R"(a\"b\\c/d\ne\u003cf\u003e\u0026g\u0001é😀)",
           R"(a\u0022b\\c/d\ne\u003Cf\u003E\u0026g\u0001\u00E9\uD83D\uDE00)",
       }) {
    EXPECT_EQ(scrubber.scrub("{\"v\":\"" + std::string(encoded) + "\"}"), "{\"v\":\"{{secret:K}}\"}") << encoded;
  }
}

TEST(Scrubber, Finds_the_lines_of_a_key_but_not_its_armour) {
  const std::string pem =
      "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQ\nEFAASCBKcwggSjAgEAAoIBAQDR\nend4\n-----END PRIVATE "
      "KEY-----\n";
  const Scrubber scrubber({{"PEM", pem}});
  EXPECT_EQ(scrubber.scrub(pem), "{{secret:PEM}}\n");
  EXPECT_EQ(scrubber.scrub("  MIIEvQIBADANBgkqhkiG9w0BAQ\r\n  EFAASCBKcwggSjAgEAAoIBAQDR\r\n"),
            "  {{secret:PEM}}\r\n  {{secret:PEM}}\r\n");
  EXPECT_EQ(scrubber.scrub("-----BEGIN PRIVATE KEY-----"), "-----BEGIN PRIVATE KEY-----");
}

TEST(Scrubber, White_space_around_a_value_does_not_hide_it) {
  EXPECT_EQ(scrubbed({{"K", "hunter2!\n"}}, "Bearer hunter2!\r\n"), "Bearer {{secret:K}}\r\n");
}

TEST(Scrubber, The_leftmost_match_wins_and_of_those_the_longest) {
  const Scrubber scrubber({{"SHORT", "abcd"}, {"LONG", "abcdefgh"}, {"LATER", "defghijk"}, {"TAIL", "wxyz"}});
  EXPECT_EQ(scrubber.scrub("abcdefgh"), "{{secret:LONG}}");
  EXPECT_EQ(scrubber.scrub("abcdefgx"), "{{secret:SHORT}}efgx");
  EXPECT_EQ(scrubber.scrub("abcdefghijk"), "{{secret:LONG}}ijk");
  EXPECT_EQ(scrubber.scrub("xdefghijk"), "x{{secret:LATER}}");
  EXPECT_EQ(scrubber.scrub("abcdwxyz"), "{{secret:SHORT}}{{secret:TAIL}}");
  EXPECT_EQ(scrubber.scrub("abcdefabcdefgh"), "{{secret:SHORT}}ef{{secret:LONG}}");
}

TEST(Scrubber, A_value_of_two_aliases_bears_the_first) {
  EXPECT_EQ(scrubbed({{"FIRST", "the-value"}, {"SECOND", "the-value"}}, "the-value"), "{{secret:FIRST}}");
}

TEST(Scrubber, Takes_most_of_a_long_value_for_the_value) {
  std::mt19937 chance(1);
  std::string value;
  while (value.size() < 2000) value += static_cast<char>('a' + chance() % 26);
  const Scrubber scrubber({{"LONG", value}});
  EXPECT_EQ(scrubber.scrub("<" + value + ">"), "<{{secret:LONG}}>");
  EXPECT_EQ(scrubber.scrub("<" + value + value + ">"), "<{{secret:LONG}}{{secret:LONG}}>");
  EXPECT_EQ(scrubber.scrub("<" + value.substr(0, 1500) + ">"), "<{{secret:LONG}}>");
  EXPECT_EQ(scrubber.scrub(value.substr(0, head_bytes_max)), "{{secret:LONG}}");
  const auto less = value.substr(0, head_bytes_max - 1);
  EXPECT_EQ(scrubber.scrub(less), less);
}

TEST(Scrubber, Long_values_with_one_head_are_both_taken_whole) {
  const std::string head(head_bytes_max, 'h');
  const Scrubber scrubber({{"A", head + "tail-one"}, {"B", head + "tail-two-and-more"}});
  EXPECT_EQ(scrubber.scrub(head + "tail-one."), "{{secret:A}}.");
  EXPECT_EQ(scrubber.scrub(head + "tail-two-and-more."), "{{secret:A}}.")
      << "whose it was is a guess; that it goes is not";
}

TEST(Scrubber, Long_values_with_a_common_beginning_cost_two_comparisons_a_byte_however_many_there_are) {
  std::mt19937 chance(3);
  std::string common;
  while (common.size() < 8'000) common += static_cast<char>('a' + chance() % 26);
  std::vector<Secret> secrets;
  for (int i = 0; i < 50; ++i) secrets.push_back({"K", common + "/ends \"as\" <" + std::to_string(i)});
  const auto scrubber = std::make_shared<const Scrubber>(secrets);
  ScrubStream stream(scrubber);
  EXPECT_EQ(stream.push(common) + stream.finish(), "{{secret:K}}");
  EXPECT_GT(stream.tail_steps(), 7'000);
  EXPECT_LE(stream.tail_steps(), 16'000);
  for (const auto at : {0, 24, 49}) {
    for (auto& spelling : spellings_of(secrets[at].value)) {
      const auto text = spelling.rest();
      EXPECT_EQ(scrubber->scrub("<" + text + ">").substr(0, 14), "<{{secret:K}}>") << text.substr(7'000);
    }
  }
}

TEST(Scrubber, Fifty_values_of_the_greatest_size_can_be_looked_for) {
  std::mt19937 chance(2);
  std::vector<Secret> secrets;
  for (std::size_t i = 0; i < secrets_per_request_max; ++i) {
    std::string value;
    while (value.size() < value_bytes_max) value += static_cast<char>(' ' + chance() % 95);
    secrets.push_back({"K" + std::to_string(i), value});
  }
  const Scrubber scrubber(secrets);
  EXPECT_EQ(scrubber.scrub("<" + secrets[49].value + ">").find("<{{secret:K49}}"), 0u);
}

TEST(ScrubStream, Tells_at_once_what_cannot_become_a_value) {
  ScrubStream stream(std::make_shared<const Scrubber>(std::vector<Secret>{{"K", "hunter2!"}}));
  EXPECT_EQ(stream.push("the hun"), "the ");
  EXPECT_TRUE(stream.holds_back());
  EXPECT_EQ(stream.push("dred"), "hundred");
  EXPECT_FALSE(stream.holds_back());
  EXPECT_EQ(stream.push(" hunter2"), " ");
  EXPECT_EQ(stream.push("!"), "{{secret:K}}") << "nothing longer can come of it";
  EXPECT_FALSE(stream.holds_back());
  EXPECT_EQ(stream.push("hunt"), "");
  EXPECT_EQ(stream.finish(), "hunt");
}

TEST(ScrubStream, Passes_everything_when_there_is_nothing_to_look_for) {
  ScrubStream stream(Secrets().scrubber());
  EXPECT_EQ(stream.push("hunter2!"), "hunter2!");
  EXPECT_EQ(stream.finish(), "");
}

TEST(ScrubStream, Outlives_the_set_it_came_from) {
  auto secrets = std::make_unique<Secrets>();
  secrets->replace({{"K", "hunter2!"}});
  ScrubStream stream(secrets->scrubber());
  secrets.reset();
  EXPECT_EQ(stream.push("hunter2!"), "{{secret:K}}");
}

// Few letters, so that values overlap with themselves and with each other. The letters of a placeholder are not
// among them.
std::string noise(std::mt19937& chance, std::size_t size, std::string_view letters) {
  std::string out;
  while (out.size() < size) out += letters[chance() % letters.size()];
  return out;
}

TEST(ScrubStream, I_17_No_cut_changes_what_is_told_and_no_spelling_survives) {
  std::mt19937 chance(17);
  for (int round = 0; round < 400; ++round) {
    const std::string_view letters = round % 3 == 0 ? "ab" : round % 3 == 1 ? "ab /\"\n\\+%" : "abAQk-_.~é\x01<&";
    std::vector<Secret> secrets;
    for (std::size_t i = 0; i < 1 + chance() % 4; ++i) {
      const auto size = chance() % 20 == 0 ? head_bytes_max + chance() % 300 : value_bytes_min + chance() % 14;
      secrets.push_back({"Z", noise(chance, size, letters)});
    }
    Texts spellings;
    for (const auto& secret : secrets) {
      for (auto& spelling : spellings_of(secret.value)) spellings.push_back(spelling.rest());
    }
    std::string text;
    for (int part = 0; part < 12; ++part) {
      const auto& spelling = spellings[chance() % spellings.size()];
      text += noise(chance, chance() % 9, letters) +
              (chance() % 3 ? spelling : spelling.substr(0, chance() % spelling.size()));
    }
    const auto scrubber = std::make_shared<const Scrubber>(secrets);
    const auto whole = scrubber->scrub(text);
    ASSERT_EQ(in_pieces(scrubber, text, [] { return 1u; }), whole) << text;
    ASSERT_EQ(in_pieces(scrubber, text, [&] { return 1 + chance() % 40; }), whole) << text;
    for (const auto& spelling : spellings) {
      std::size_t at = 0;  // between two placeholders; across one, nothing of a value is whole
      for (std::size_t next = 0; at <= whole.size(); at = next + 12) {
        next = std::min(whole.find("{{secret:Z}}", at), whole.size());
        ASSERT_EQ(whole.substr(at, next - at).find(spelling), std::string::npos) << whole;
      }
    }
  }
}

}  // namespace scrubber_test
}  // namespace sluice::vault
