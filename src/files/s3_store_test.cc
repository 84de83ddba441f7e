// What needs no store: tests/process/test_files.py talks to a real one.
#include <gtest/gtest.h>

#include "files/files.h"

namespace sluice::files {
namespace s3_store_test {

S3Options usable() {
  return {.place = "s3://bucket/prefix",
          .endpoint = "http://127.0.0.1:1",
          .region = "us-east-1",
          .access_key = "KEY",
          .secret_key = "SECRET",
          .scratch_dir = testing::TempDir(),
          .attempts_max = 1};
}

std::string refusal_of(const S3Options& options) {
  const auto opened = open_s3(options);
  return opened ? "" : opened.error().what;
}

TEST(S3Store, Says_what_is_wrong_with_its_configuration) {
  EXPECT_EQ(refusal_of(usable()), "");
  for (const auto* place : {"s3://", "s3:///x", "bucket", "s3://a//b", "s3://a/../b"}) {
    auto options = usable();
    options.place = place;
    EXPECT_NE(refusal_of(options).find("files.store must be s3://BUCKET"), std::string::npos) << place;
  }
  for (const auto* endpoint : {"", "s3.example.com", "ftp://x", "http://", "http://u@h", "http://h/path"}) {
    auto options = usable();
    options.endpoint = endpoint;
    EXPECT_NE(refusal_of(options).find("files.s3_endpoint"), std::string::npos) << endpoint;
  }
  auto options = usable();
  options.secret_key.clear();
  EXPECT_NE(refusal_of(options).find("files.s3_secret_key"), std::string::npos);
}

TEST(S3Store, A_store_that_is_down_takes_nothing_and_says_so) {
  const auto contents = open_s3(usable()).take();
  const auto put = contents->put("x");
  ASSERT_FALSE(put);
  EXPECT_EQ(put.error().kind, ErrorKind::overloaded);
  EXPECT_NE(put.error().what.find("http://127.0.0.1:1"), std::string::npos);
  const auto opened = contents->open(std::string(64, 'a'));
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().kind, ErrorKind::overloaded);
}

TEST(S3Store, What_is_no_digest_is_not_asked_for) {
  const auto contents = open_s3(usable()).take();
  const auto opened = contents->open("../x");
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().kind, ErrorKind::not_found);
}

}  // namespace s3_store_test
}  // namespace sluice::files
