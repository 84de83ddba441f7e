#include "base/lifetime.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "base/callback.h"

namespace sluice {
namespace lifetime_test {

struct Listener {
  std::string heard;
  Lifetime lifetime;
};

TEST(Lifetime, a_guarded_callback_is_called_while_its_object_exists_and_does_nothing_afterwards) {
  int calls = 0;
  std::optional<Listener> listener(std::in_place);
  Callback<void(int)> guarded = listener->lifetime.guard([&](int n) { calls += n; });
  guarded(1);
  EXPECT_EQ(calls, 1);
  listener.reset();
  guarded(1);
  EXPECT_EQ(calls, 1);
}

TEST(Lifetime, a_watch_sees_the_object_go_in_the_middle_of_a_call) {
  std::optional<Listener> listener(std::in_place);
  const auto watch = listener->lifetime.watch();
  EXPECT_FALSE(watch.is_over());
  listener.reset();
  EXPECT_TRUE(watch.is_over());
}

TEST(Lifetime, a_ref_gives_the_object_and_becomes_null) {
  std::optional<Listener> listener(std::in_place);
  const auto ref = listener->lifetime.ref(*listener);
  EXPECT_EQ(ref.get(), &*listener);
  Callback<void(std::string)> hear = ref.guard([](Listener& still, std::string word) { still.heard += word; });
  hear("one");
  EXPECT_EQ(listener->heard, "one");
  listener.reset();
  EXPECT_EQ(ref.get(), nullptr);
  hear("two");
}

TEST(Lifetime, an_object_that_begins_anew_is_gone_for_those_who_watched_it_before) {
  Listener listener;
  const auto before = listener.lifetime.watch();
  listener.lifetime.begin_anew();
  EXPECT_TRUE(before.is_over());
  EXPECT_FALSE(listener.lifetime.watch().is_over());
}

TEST(Lifetime, a_guarded_callback_can_own_what_cannot_be_copied) {
  Listener listener;
  int last = 0;
  Callback<void()> guarded = listener.lifetime.guard([&last, owned = std::make_unique<int>(7)] { last = *owned; });
  guarded();
  EXPECT_EQ(last, 7);
}

}  // namespace lifetime_test
}  // namespace sluice
