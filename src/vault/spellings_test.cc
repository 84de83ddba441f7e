// The spellings that values come back in, as common libraries write them (I-17).
#include "vault/spellings.h"

#include <gtest/gtest.h>

#include <random>

#include "vault/vault.h"

namespace sluice::vault {
namespace spellings_test {

constexpr std::string_view value = R"~(s3cr3t/Val+ue&<99>"q'z é😀)~";

std::string scrubbed(std::string_view text) {
  return Scrubber({{"K", std::string(value)}}).scrub("<" + std::string(text) + ">");
}

TEST(Spellings, I_17_Json_as_its_writers_write_it_and_json_inside_of_json) {
  for (const std::string_view text : {
           R"~(s3cr3t/Val\u002Bue\u0026\u003C99\u003E\u0022q\u0027z \u00e9\ud83d\ude00)~",  // .NET's marks, Python's
                                                                                            // letters
           R"~(s3cr3t/Val\u002Bue\u0026\u003C99\u003E\u0022q\u0027z \u00E9\uD83D\uDE00)~",  // .NET
           R"~(s3cr3t/Val\u002bue\u0026\u003c99\u003e\u0022q\u0027z \u00e9\ud83d\ude00)~",  // the same in lower case
           R"~(s3cr3t/Val+ue&<99>\\\"q'z \\u00e9\\ud83d\\ude00)~",                          // Python in Python
           R"~(s3cr3t/Val+ue&<99>\\\"q'z é😀)~",                                            // JSON.stringify in itself
           R"~(s3cr3t/Val\\u002Bue\\u0026\\u003C99\\u003E\\u0022q\\u0027z \\u00E9\\uD83D\\uDE00)~",  // .NET in any
           R"~(s3cr3t\\/Val+ue&<99>\\\"q'z \\u00e9\\ud83d\\ude00)~",                                 // PHP in Python
       }) {
    EXPECT_EQ(scrubbed(text), "<{{secret:K}}>") << text;
  }
}

TEST(Spellings, I_17_Html) {
  for (const std::string_view text : {
           R"~(s3cr3t/Val+ue&amp;&lt;99&gt;&quot;q&#x27;z é😀)~",  // Python
           R"~(s3cr3t/Val+ue&amp;&lt;99&gt;&quot;q&#39;z é😀)~", R"~(s3cr3t/Val+ue&amp;&lt;99&gt;&quot;q&apos;z é😀)~",
           R"~(s3cr3t/Val+ue&amp;&lt;99&gt;&quot;q&#039;z é😀)~",  // PHP
           R"~(s3cr3t/Val+ue&amp;&lt;99&gt;"q'z é😀)~",            // text
           R"~(s3cr3t/Val+ue&amp;&lt;99&gt;&#34;q&#39;z é😀)~",    // Go
       }) {
    EXPECT_EQ(scrubbed(text), "<{{secret:K}}>") << text;
  }
}

TEST(Spellings, I_17_Urls_that_encode_everything_or_hardly_anything) {
  for (const std::string_view text : {
           R"~(%73%33%63%72%33%74%2F%56%61%6C%2B%75%65%26%3C%39%39%3E%22%71%27%7A%20%C3%A9%F0%9F%98%80)~",  // every
                                                                                                            // byte
           R"~(%73%33%63%72%33%74%2f%56%61%6c%2b%75%65%26%3c%39%39%3e%22%71%27%7a%20%c3%a9%f0%9f%98%80)~",
           R"~(s3cr3t/Val+ue&%3C99%3E%22q'z%20%C3%A9%F0%9F%98%80)~",    // encodeURI
           R"~(s3cr3t/Val+ue&%3C99%3E%22q%27z%20%C3%A9%F0%9F%98%80)~",  // Go's paths
       }) {
    EXPECT_EQ(scrubbed(text), "<{{secret:K}}>") << text;
  }
}

TEST(Spellings, I_17_Bytes_that_were_written_down_or_taken_for_something_else) {
  for (const std::string_view text : {
           R"~(7333637233742f56616c2b7565263c39393e2271277a20c3a9f09f9880)~",  // hexadecimal
           R"~(7333637233742F56616C2B7565263C39393E2271277A20C3A9F09F9880)~",
           R"~(s3cr3t/Val+ue&<99>"q'z Ã©ð)~",  // UTF-8 taken for Latin-1
       }) {
    EXPECT_EQ(scrubbed(text), "<{{secret:K}}>") << text;
  }
  const Scrubber scrubber({{"K", "pässwörd"}});
  EXPECT_EQ(scrubber.scrub("<p\xe4ssw\xf6rd>"), "<{{secret:K}}>");
  EXPECT_EQ(Scrubber({{"K", "éé"}}).scrub("<\xe9\xe9>"), "<\xe9\xe9>") << "too short to be looked for";
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    uint32_t group = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      group = group << 8 | (at + i < bytes.size() ? static_cast<uint8_t>(bytes[at + i]) : 0u);
    }
    for (std::size_t i = 0; i < 4; ++i) out += at + i > bytes.size() ? '=' : digits[group >> (18 - 6 * i) & 63];
  }
  return out;
}

std::string in_lines(std::string text, std::size_t width, std::string_view line_end) {
  for (std::size_t at = width; at < text.size(); at += width + line_end.size()) text.insert(at, line_end);
  return text;
}

std::string letters(std::mt19937& chance, std::size_t size) {
  std::string out;
  while (out.size() < size) out += static_cast<char>('!' + chance() % 90);
  return out;
}

TEST(Spellings, I_17_Base64_in_lines_wherever_they_end) {
  std::mt19937 chance(76);
  for (const std::size_t size : {8u, 21u, 48u, 100u, 1000u}) {
    const auto secret = letters(chance, size);
    const Scrubber scrubber({{"K", secret}});
    for (const std::size_t width : {60u, 64u, 76u}) {
      for (const std::string_view line_end : {"\n", "\r\n"}) {
        for (std::size_t before = 0; before < 60; ++before) {
          const auto text = in_lines(base64(std::string(before, '~') + secret + "~~~~~~"), width, line_end);
          const auto scrubbed = scrubber.scrub(text);
          ASSERT_NE(scrubbed.find("{{secret:K}}"), std::string::npos) << text;
          ASSERT_LE(scrubbed.size(), 12 + base64(std::string(before + 9, '~')).size() + 3 * line_end.size())
              << scrubbed;
        }
      }
    }
  }
}

TEST(Spellings, I_17_What_follows_base64_and_holds_bits_of_the_value_goes_with_it) {
  const Scrubber scrubber({{"X", "hunter2!"}, {"Y", "kangaroo"}});
  EXPECT_EQ(scrubber.scrub(base64("u:hunter2!")), "dTp{{secret:X}}");
  EXPECT_EQ(scrubber.scrub(base64("hunter2!")), "{{secret:X}}");
  EXPECT_EQ(scrubber.scrub(base64("hunter2!") + "=="), "{{secret:X}}=") << "no padding is longer than two";
  EXPECT_EQ(scrubber.scrub("aHVudGVyMi&x=="), "{{secret:X}}&x==");
  EXPECT_EQ(scrubber.scrub("aHVudGVyMiE kangaroo"), "{{secret:X}} {{secret:Y}}");
  EXPECT_EQ(scrubber.scrub("aHVudGVyMikangaroo"), "{{secret:X}}{{secret:Y}}") << "another value is found first";
  EXPECT_EQ(scrubber.scrub("aHVudGVyMiEkangaroo"), "{{secret:X}}{{secret:Y}}");
}

TEST(Spellings, I_17_A_value_that_stands_in_placeholders_leaves_them_alone) {
  EXPECT_EQ(Scrubber({{"W", "secret"}}).scrub("a secret: {{secret:W}}"), "a {{secret:W}}: {{secret:W}}");
  EXPECT_EQ(Scrubber({{"W", "{{secret:W}}"}}).scrub("{{secret:W}}"), "{{secret:W}}");
  EXPECT_EQ(Scrubber({{"W", "secret"}}).scrub("{{secret:OTHER}}"), "{{{{secret:W}}:OTHER}}");
  EXPECT_FALSE(Scrubber({{"W", "secret"}}).finds("{{secret:W}}"));
}

// Of values without braces. One that ends in a brace can be made anew by the placeholder that follows it.
TEST(Spellings, I_17_To_scrub_twice_is_to_scrub_once) {
  std::mt19937 chance(2);
  const std::vector<std::string> parts = {"secret", ":", "A", "B", "}}", "{{", "ret:", "{{secret:A}}", "=", "k"};
  for (int round = 0; round < 300; ++round) {
    std::vector<Secret> secrets = {{"A", "secr"}, {"B", "ret:A"}, {"C", "secret:B"}};
    secrets.push_back({"D", "k" + letters(chance, 6)});
    std::erase(secrets.back().value, '{');
    std::string text;
    for (int part = 0; part < 40; ++part) {
      const auto& secret = secrets[chance() % secrets.size()];
      text += chance() % 2 ? parts[chance() % parts.size()] : chance() % 2 ? secret.value : base64(secret.value);
    }
    const Scrubber scrubber(secrets);
    const auto once = scrubber.scrub(text);
    ASSERT_EQ(scrubber.scrub(once), once) << text;
    ASSERT_FALSE(scrubber.finds(once));
  }
}

}  // namespace spellings_test
}  // namespace sluice::vault
