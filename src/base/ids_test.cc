#include "base/ids.h"

#include <gtest/gtest.h>

#include <set>
#include <unordered_set>

namespace sluice {
namespace ids_test {

struct ThingKind {
  static constexpr std::string_view prefix = "thg_";
};
using ThingId = Id<ThingKind>;

constexpr std::array<uint8_t, 10> low_noise = {0, 0, 0, 0, 0, 0, 0, 0, 0, 7};
constexpr std::array<uint8_t, 10> high_noise = {255, 255, 255, 255, 255, 255, 255, 255, 255, 254};

std::string text_of(const Ulid& ulid) {
  std::string out;
  append_ulid(out, ulid);
  return out;
}

Ulid filled(uint8_t byte) {
  Ulid ulid;
  ulid.bytes.fill(byte);
  return ulid;
}

TEST(Ulid, Is_26_characters_of_lower_case_base32) {
  EXPECT_EQ(text_of(Ulid{}), "00000000000000000000000000");
  EXPECT_EQ(text_of(filled(0xff)), "7zzzzzzzzzzzzzzzzzzzzzzzzz");
  Ulid one;
  one.bytes[15] = 1;
  EXPECT_EQ(text_of(one), "00000000000000000000000001");
}

TEST(Ulid, Every_bit_has_its_own_place_and_comes_back) {
  std::set<std::string> seen;
  for (std::size_t bit = 0; bit < 128; ++bit) {
    Ulid ulid;
    ulid.bytes[bit / 8] = static_cast<uint8_t>(0x80 >> (bit % 8));
    const std::string text = text_of(ulid);
    EXPECT_TRUE(seen.insert(text).second);
    EXPECT_EQ(parse_ulid(text), ulid) << text;
  }
}

TEST(Ulid, Text_sorts_as_the_bytes_do) {
  Ulid a = filled(0x10);
  Ulid b = a;
  b.bytes[9] = 0x11;
  EXPECT_LT(a, b);
  EXPECT_LT(text_of(a), text_of(b));
}

TEST(Ulid, Has_one_spelling_only) {
  const std::string good = "01hzx8c0000000000000000000";
  ASSERT_TRUE(parse_ulid(good));
  EXPECT_FALSE(parse_ulid("01HZX8C0000000000000000000"));  // upper case
  EXPECT_FALSE(parse_ulid("81hzx8c0000000000000000000"));  // more than 128 bits
  EXPECT_FALSE(parse_ulid(good.substr(1)));
  EXPECT_FALSE(parse_ulid(good + "0"));
  EXPECT_FALSE(parse_ulid(""));
  for (const char c : std::string_view("ilou-_ {\0\x80", 10)) {
    std::string bad = good;
    bad[13] = c;
    EXPECT_FALSE(parse_ulid(bad)) << c;
  }
}

TEST(Id, Is_its_kind_and_its_ulid) {
  const ThingId id{filled(0)};
  EXPECT_EQ(id.text(), "thg_00000000000000000000000000");
  EXPECT_EQ(ThingId::parse(id.text()), id);
  EXPECT_FALSE(ThingId::parse("con_00000000000000000000000000"));
  EXPECT_FALSE(ThingId::parse("00000000000000000000000000"));
  EXPECT_FALSE(ThingId::parse("THG_00000000000000000000000000"));
  EXPECT_FALSE(ThingId::parse("thg_"));
}

TEST(Id, Can_be_kept_in_a_hash_table) {
  UlidSource source;
  std::unordered_set<ThingId> ids;
  for (int i = 0; i < 1'000; ++i) ids.insert(ThingId{source.next({5}, low_noise)});
  EXPECT_EQ(ids.size(), 1'000U);
}

TEST(UlidSource, Starts_with_the_time_in_milliseconds) {
  UlidSource source;
  const Ulid ulid = source.next({0x0123456789ab}, low_noise);
  EXPECT_EQ((std::array<uint8_t, 6>{0x01, 0x23, 0x45, 0x67, 0x89, 0xab}),
            (std::array<uint8_t, 6>{ulid.bytes[0], ulid.bytes[1], ulid.bytes[2], ulid.bytes[3], ulid.bytes[4],
                                    ulid.bytes[5]}));
  EXPECT_EQ(ulid.bytes[15], 7);
}

TEST(UlidSource, Increases_within_a_millisecond_and_across_every_step_of_the_clock) {
  UlidSource source;
  Ulid last;
  for (const int64_t ms : {1'000, 1'000, 1'000, 1'001, 999, 1, 1'001, 1'002, 500, 1'003, 1'003}) {
    for (const auto& noise : {high_noise, low_noise}) {
      const Ulid next = source.next({ms}, noise);
      EXPECT_LT(last, next) << ms;
      last = next;
    }
  }
}

TEST(UlidSource, Noise_that_is_used_up_carries_into_the_time) {
  UlidSource source;
  const Ulid first = source.next({1'000}, high_noise);
  const Ulid second = source.next({1'000}, low_noise);
  const Ulid third = source.next({1'000}, low_noise);
  const Ulid later = source.next({1'001}, low_noise);
  EXPECT_LT(first, second);
  EXPECT_LT(second, third);
  EXPECT_LT(third, later);
}

TEST(UlidSource, Takes_fresh_noise_when_time_has_passed) {
  UlidSource source;
  source.next({1'000}, high_noise);
  EXPECT_EQ(source.next({1'001}, low_noise).bytes[15], 7);
}

}  // namespace ids_test
}  // namespace sluice
