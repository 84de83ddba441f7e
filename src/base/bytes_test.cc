#include "base/bytes.h"

#include <gtest/gtest.h>

#include "base/digest.h"
#include "base/utf8.h"

namespace sluice {
namespace bytes_test {

TEST(Hex, Is_two_lower_case_digits_a_byte) {
  EXPECT_EQ(to_hex(std::string_view("\x00\x0f\xa0\xff", 4)), "000fa0ff");
  EXPECT_EQ(to_hex(""), "");
}

TEST(Base64url, Writes_the_examples_of_RFC_4648_without_padding) {
  EXPECT_EQ(to_base64url(""), "");
  EXPECT_EQ(to_base64url("f"), "Zg");
  EXPECT_EQ(to_base64url("fo"), "Zm8");
  EXPECT_EQ(to_base64url("foo"), "Zm9v");
  EXPECT_EQ(to_base64url("foob"), "Zm9vYg");
  EXPECT_EQ(to_base64url("fooba"), "Zm9vYmE");
  EXPECT_EQ(to_base64url("foobar"), "Zm9vYmFy");
  EXPECT_EQ(to_base64url("\xfb\xff\xbf"), "-_-_");
}

TEST(Base64url, Comes_back_for_every_length_and_byte) {
  std::string bytes;
  for (int i = 0; i < 300; ++i) {
    EXPECT_EQ(from_base64url(to_base64url(bytes)), bytes);
    bytes += static_cast<char>(i * 7);
  }
}

// Two spellings of one signature would let a captured one pass as another.
TEST(Base64url, Has_one_spelling_only) {
  EXPECT_EQ(from_base64url("Zg"), "f");
  for (const std::string_view text :
       {"Zg==", "Zm9v=", "Zh", "Zm9", "Z", "Zm9vZ", "+/+/", "Zm 9v", "Zm9v\n", "Zm9\xc3"}) {
    EXPECT_FALSE(from_base64url(text)) << text;
  }
}

TEST(Base64url, Of_all_pairs_of_digits_only_the_canonical_ones_are_read) {
  int read = 0;
  for (int first = 0; first < 256; ++first) {
    for (int second = 0; second < 256; ++second) {
      const char pair[] = {static_cast<char>(first), static_cast<char>(second)};
      const auto bytes = from_base64url({pair, 2});
      if (!bytes) continue;
      ++read;
      EXPECT_EQ(to_base64url(*bytes), std::string_view(pair, 2));
    }
  }
  EXPECT_EQ(read, 256);
}

TEST(Utf8, Is_checked_strictly) {
  EXPECT_TRUE(is_utf8(""));
  EXPECT_TRUE(is_utf8("é€😀"));
  EXPECT_TRUE(is_utf8(std::string_view("\0", 1)));
  EXPECT_FALSE(is_utf8("\xc3"));              // cut
  EXPECT_FALSE(is_utf8("\xc0\xaf"));          // overlong
  EXPECT_FALSE(is_utf8("\xed\xa0\x80"));      // half of a surrogate pair
  EXPECT_FALSE(is_utf8("\xf5\x80\x80\x80"));  // beyond Unicode
}

TEST(Utf8, Length_counts_code_points) {
  EXPECT_EQ(utf8_length(""), 0U);
  EXPECT_EQ(utf8_length("aé€😀"), 4U);
}

TEST(Nearest, Finds_what_was_meant_and_nothing_else) {
  constexpr std::string_view fields[] = {"content", "repository_id", "env"};
  EXPECT_EQ(nearest("contnet", fields), "content");
  EXPECT_EQ(nearest("repositoryid", fields), "repository_id");
  EXPECT_EQ(nearest("content", fields), "content");
  constexpr std::string_view verbs[] = {"send", "serve", "runs"};
  EXPECT_EQ(nearest("sned", verbs), "send") << "two letters that changed places are one mistake";
  EXPECT_EQ(nearest("rusn", verbs), "runs");
  EXPECT_FALSE(nearest("nsed", std::span(verbs).subspan(1)));
  EXPECT_FALSE(nearest("prompt", fields));
  EXPECT_FALSE(nearest("", fields));
  EXPECT_FALSE(nearest("content", {}));
}

TEST(Utf8, A_prefix_never_ends_inside_a_character) {
  EXPECT_EQ(utf8_prefix_size("aé€", 9), 6U);
  EXPECT_EQ(utf8_prefix_size("aé€", 6), 6U);
  EXPECT_EQ(utf8_prefix_size("aé€", 5), 3U);
  EXPECT_EQ(utf8_prefix_size("aé€", 3), 3U);
  EXPECT_EQ(utf8_prefix_size("aé€", 2), 1U);
  EXPECT_EQ(utf8_prefix_size("é", 1), 0U);
  EXPECT_EQ(utf8_prefix_size("", 4), 0U);
}

TEST(Digest, Sha256_and_hmac_agree_with_the_published_vectors) {
  EXPECT_EQ(to_hex(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(to_hex(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(to_hex(hmac_sha256("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(to_hex(hmac_sha256(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First")),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
  EXPECT_EQ(to_hex(hmac_sha256("", "")), "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
}

TEST(Digest, Comparison_in_constant_time_compares) {
  EXPECT_TRUE(equal_in_constant_time("", ""));
  EXPECT_TRUE(equal_in_constant_time("same", "same"));
  EXPECT_FALSE(equal_in_constant_time("same", "sale"));
  EXPECT_FALSE(equal_in_constant_time("same", "samee"));
}

}  // namespace bytes_test
}  // namespace sluice
