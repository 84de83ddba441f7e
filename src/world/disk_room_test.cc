#include "world/disk_room.h"

#include <gtest/gtest.h>

#include "world/fake_world.h"

namespace sluice::world {
namespace disk_room_test {

TEST(DiskRoom, A_disk_with_less_free_than_the_floor_is_short_of_room) {
  FakeLoop loop;
  Metrics metrics;
  DiskRoom roomy("/", 1, loop, metrics);
  EXPECT_FALSE(roomy.is_short());
  EXPECT_EQ(roomy.free_bytes_min(), 1);
  EXPECT_GT(roomy.free_bytes(), 0);
  EXPECT_EQ(metrics.gauge("sluice_disk_free_bytes", "").value(), roomy.free_bytes());
  DiskRoom full("/", INT64_MAX, loop, metrics);
  EXPECT_TRUE(full.is_short());
}

TEST(DiskRoom, Where_no_floor_is_named_it_is_a_twentieth_of_the_disk_and_a_gibibyte_at_most) {
  FakeLoop loop;
  Metrics metrics;
  const DiskRoom room("/", 0, loop, metrics);
  EXPECT_GT(room.free_bytes_min(), 0);
  EXPECT_LE(room.free_bytes_min(), 1LL << 30);
}

TEST(DiskRoom, A_disk_that_cannot_be_looked_at_refuses_nothing) {
  FakeLoop loop;
  Metrics metrics;
  EXPECT_FALSE(DiskRoom("/no/such/directory", 1, loop, metrics).is_short());
}

}  // namespace disk_room_test
}  // namespace sluice::world
