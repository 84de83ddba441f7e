#include <gtest/gtest.h>

#include "model/objects.h"

namespace sluice::model {
namespace media_type_test {

TEST(MediaType, The_last_extension_decides_whatever_its_case) {
  EXPECT_EQ(media_type_of("sales.csv"), "text/csv");
  EXPECT_EQ(media_type_of("Photo.JPG"), "image/jpeg");
  EXPECT_EQ(media_type_of("page.csv.html"), "text/html");
}

TEST(MediaType, What_the_name_does_not_tell_is_bytes) {
  for (const auto* name : {"", "README", "x.", "run.exe", ".png/x", "csv"}) {
    EXPECT_EQ(media_type_of(name), "application/octet-stream") << name;
  }
  EXPECT_EQ(media_type_of(".png"), "image/png");
}

}  // namespace media_type_test
}  // namespace sluice::model
