// Seals: what opens, what does not, and what is said about it (I-17).
#include <gtest/gtest.h>

#include <set>

#include "base/bytes.h"
#include "vault/vault.h"
#include "world/fake_world.h"

namespace sluice::vault {
namespace sealer_test {

constexpr std::string_view value = "sk_live_51H8xQw2eZvKYlo2C";
const std::string old_line = to_base64url(std::string(32, 'o'));
const std::string now_line = to_base64url(std::string(32, 'n'));

model::TenantId tenant(uint8_t number) {
  model::TenantId id;
  id.ulid.bytes[15] = number;
  return id;
}

std::vector<MasterKey> keys(std::string_view text) {
  auto parsed = parse_key_file(text);
  EXPECT_TRUE(parsed);
  return std::move(parsed).take();
}

class SealerTest : public testing::Test {
 protected:
  world::FakeEntropy entropy;
  Sealer sealer{keys(now_line), entropy};
};

TEST_F(SealerTest, What_was_sealed_opens) {
  for (const std::string& text : {std::string(), std::string(value), std::string(value_bytes_max, 'x')}) {
    const auto sealed = sealer.seal(tenant(1), "c", text);
    EXPECT_EQ(sealed.size(), 1 + 4 + 12 + text.size() + 16);
    const auto opened = sealer.open(tenant(1), "c", sealed);
    ASSERT_TRUE(opened);
    EXPECT_EQ(opened.value(), text);
  }
}

TEST_F(SealerTest, I_17_A_sealed_value_does_not_show_the_value) {
  EXPECT_EQ(sealer.seal(tenant(1), "c", value).find(value.substr(0, 4)), std::string::npos);
}

TEST_F(SealerTest, The_same_value_is_never_sealed_the_same_way_twice) {
  std::set<std::string> seen;
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(seen.insert(sealer.seal(tenant(1), "c", value)).second);
}

TEST_F(SealerTest, Another_context_or_tenant_opens_nothing) {
  const auto sealed = sealer.seal(tenant(1), "secret:a", value);
  for (const auto& opened : {sealer.open(tenant(1), "secret:b", sealed), sealer.open(tenant(1), "", sealed),
                             sealer.open(tenant(1), "secret:a ", sealed), sealer.open(tenant(2), "secret:a", sealed)}) {
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().kind, ErrorKind::corrupt);
  }
}

TEST_F(SealerTest, Every_flipped_bit_is_noticed) {
  const auto sealed = sealer.seal(tenant(1), "c", value);
  for (std::size_t bit = 0; bit < sealed.size() * 8; ++bit) {
    auto changed = sealed;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
    const auto opened = sealer.open(tenant(1), "c", changed);
    ASSERT_FALSE(opened) << bit;
    const bool in_key_id = bit / 8 >= 1 && bit / 8 < 5;
    EXPECT_EQ(opened.error().kind, in_key_id ? ErrorKind::not_found : ErrorKind::corrupt) << bit;
  }
}

TEST_F(SealerTest, Every_truncation_and_every_addition_is_noticed) {
  const auto sealed = sealer.seal(tenant(1), "c", value);
  for (std::size_t size = 0; size < sealed.size(); ++size) {
    const auto opened = sealer.open(tenant(1), "c", sealed.substr(0, size));
    ASSERT_FALSE(opened) << size;
    EXPECT_EQ(opened.error().kind, ErrorKind::corrupt);
  }
  EXPECT_FALSE(sealer.open(tenant(1), "c", sealed + '\0'));
}

TEST_F(SealerTest, An_older_key_opens_and_only_the_current_one_seals) {
  Sealer before(keys(old_line), entropy);
  Sealer rotated(keys(now_line + "\n" + old_line), entropy);
  const auto old_seal = before.seal(tenant(1), "c", value);
  EXPECT_EQ(rotated.open(tenant(1), "c", old_seal).take(), value);
  EXPECT_FALSE(rotated.is_current(old_seal));
  EXPECT_TRUE(rotated.is_current(rotated.seal(tenant(1), "c", value)));
  EXPECT_FALSE(rotated.is_current("")) << "too short to be anything";
}

TEST_F(SealerTest, A_missing_key_is_named) {
  const auto old_keys = keys(old_line);
  Sealer before(old_keys, entropy);
  const auto opened = sealer.open(tenant(1), "c", before.seal(tenant(1), "c", value));
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().kind, ErrorKind::not_found);
  EXPECT_NE(opened.error().what.find(old_keys[0].id), std::string::npos) << opened.error().what;
}

TEST_F(SealerTest, What_cannot_be_opened_is_named_and_the_rest_is_opened) {
  model::SealedSecret good{.tenant_id = tenant(1), .alias = "GOOD", .hosts = {"api.example.com"}, .places = 1};
  good.sealed = sealer.seal(tenant(1), context_of(good), value);
  auto moved = good;
  moved.alias = "MOVED";
  std::vector<std::string> unreadable;
  const auto opened = open_all(sealer, {moved, good}, unreadable);
  ASSERT_EQ(opened.size(), 1u);
  EXPECT_EQ(opened[0].alias, "GOOD");
  EXPECT_EQ(opened[0].value, value);
  EXPECT_EQ(opened[0].hosts, good.hosts);
  EXPECT_EQ(opened[0].places, 1);
  ASSERT_EQ(unreadable.size(), 1u);
  EXPECT_EQ(unreadable[0].substr(0, 6), "MOVED:");
}

TEST(Contexts, Differ_wherever_the_secrets_differ) {
  const model::SealedSecret base{.scope = model::SecretScope::agent, .alias = "KEY"};
  auto other_scope = base;
  other_scope.scope = model::SecretScope::tenant;
  auto other_owner = base;
  other_owner.owner.bytes[0] = 1;
  auto other_alias = base;
  other_alias.alias = "KEY2";
  const std::set<std::string> contexts = {context_of(base), context_of(other_scope), context_of(other_owner),
                                          context_of(other_alias), context_of(model::ApproverKeyId{})};
  EXPECT_EQ(contexts.size(), 5u);
}

TEST(KeyFiles, Hold_one_key_a_line_with_comments_between) {
  const auto parsed = keys("# the current one\n" + now_line + "  # since May\r\n\n   \n" + old_line);
  ASSERT_EQ(parsed.size(), 2u);
  EXPECT_EQ(parsed[0].bytes, std::string(32, 'n'));
  EXPECT_EQ(parsed[1].bytes, std::string(32, 'o'));
  EXPECT_EQ(parsed[0].id.size(), 8u);
  EXPECT_NE(parsed[0].id, parsed[1].id);
}

TEST(KeyFiles, Are_refused_with_the_line_at_fault_and_without_quoting_it) {
  const std::string padded = now_line + "=";
  const std::string short_key = to_base64url(std::string(31, 'n'));
  for (const auto& bad : {padded, short_key, std::string("not a key"), std::string(64, 'f')}) {
    const auto parsed = parse_key_file("# keys\n" + old_line + "\n" + bad + "\n");
    ASSERT_FALSE(parsed) << bad;
    EXPECT_EQ(parsed.error().kind, ErrorKind::invalid);
    EXPECT_EQ(parsed.error().what.find("line 3"), 0u) << parsed.error().what;
    EXPECT_EQ(parsed.error().what.find(bad), std::string::npos);
  }
  EXPECT_FALSE(parse_key_file(""));
  EXPECT_FALSE(parse_key_file("# nothing\n\n"));
  EXPECT_FALSE(parse_key_file(now_line + "\n" + now_line));
}

TEST(KeyFiles, Begin_with_a_fresh_line) {
  world::FakeEntropy entropy;
  const auto first = fresh_key_line(entropy);
  const auto second = fresh_key_line(entropy);
  EXPECT_EQ(keys(first + second).size(), 2u);
}

}  // namespace sealer_test
}  // namespace sluice::vault
