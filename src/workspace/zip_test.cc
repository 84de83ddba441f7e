#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "workspace/utf8_names.h"
#include "workspace/workspace.h"

namespace sluice::workspace {
namespace zip_test {

using Contents = std::vector<std::pair<std::string, std::string>>;

// What another reader finds in it.
Contents read_back(int fd) {
  const Utf8Names utf8;
  lseek(fd, 0, SEEK_SET);
  archive* const reader = archive_read_new();
  archive_read_support_format_zip(reader);
  EXPECT_EQ(archive_read_open_fd(reader, fd, 16384), ARCHIVE_OK);
  Contents out;
  archive_entry* entry = nullptr;
  while (archive_read_next_header(reader, &entry) == ARCHIVE_OK) {
    std::string bytes(1024 * 1024, '\0');
    const auto size = archive_read_data(reader, bytes.data(), bytes.size());
    bytes.resize(static_cast<std::size_t>(std::max<la_ssize_t>(size, 0)));
    out.emplace_back(archive_entry_pathname_utf8(entry), bytes);
  }
  archive_read_free(reader);
  return out;
}

TEST(Zip, Holds_each_file_under_its_name) {
  const OwnedFd fd(memfd_create("zip", MFD_CLOEXEC));
  const std::string large(70'000, 'x');
  ASSERT_TRUE(write_zip(fd.get(), {{"a.csv", "1,2"}, {"empty.txt", ""}, {"März.txt", large}}));
  EXPECT_TRUE(read_back(fd.get()) == (Contents{{"a.csv", "1,2"}, {"empty.txt", ""}, {"März.txt", large}}));
}

// S-12
TEST(Zip, Names_that_come_twice_are_made_unique_whatever_their_case) {
  const OwnedFd fd(memfd_create("zip", MFD_CLOEXEC));
  ASSERT_TRUE(write_zip(fd.get(), {{"a.csv", "1"}, {"A.csv", "2"}, {"a.csv", "3"}, {"x", "4"}, {"x", "5"}}));
  EXPECT_EQ(read_back(fd.get()),
            (Contents{{"a.csv", "1"}, {"A-1.csv", "2"}, {"a-2.csv", "3"}, {"x", "4"}, {"x-1", "5"}}));
}

TEST(Zip, A_disk_that_takes_nothing_is_told) {
  const OwnedFd fd(open("/dev/full", O_WRONLY | O_CLOEXEC));
  EXPECT_FALSE(write_zip(fd.get(), {{"a.csv", std::string(100'000, 'x')}}));
}

TEST(Zip, A_file_is_read_by_its_name_within_bounds) {
  const OwnedFd fd(memfd_create("zip", MFD_CLOEXEC));
  ASSERT_TRUE(write_zip(fd.get(), {{"a.csv", "1,2"}, {"b.txt", std::string(100'000, 'x')}}));
  std::string zip(static_cast<std::size_t>(lseek(fd.get(), 0, SEEK_END)), '\0');
  ASSERT_EQ(pread(fd.get(), zip.data(), zip.size(), 0), static_cast<ssize_t>(zip.size()));
  EXPECT_EQ(read_from_zip(zip, "a.csv", 3).take(), "1,2");
  EXPECT_EQ(read_from_zip(zip, "b.txt", 100'000).take().size(), 100'000U);
  EXPECT_FALSE(read_from_zip(zip, "b.txt", 99'999)) << "a bomb";
  EXPECT_FALSE(read_from_zip(zip, "../a.csv", 3));
  EXPECT_FALSE(read_from_zip("PK", "a.csv", 3));
  EXPECT_FALSE(read_from_zip(zip.substr(0, zip.size() / 2), "b.txt", 100'000));
}

TEST(Extensions, Decide_without_regard_to_case) {
  EXPECT_TRUE(has_extension_of("a.CSV", {}));
  EXPECT_FALSE(has_extension_of("a.exe", {}));
  EXPECT_FALSE(has_extension_of("README", {}));
  EXPECT_TRUE(has_extension_of("a.exe", {"exe"}));
  EXPECT_FALSE(has_extension_of("a.csv", {"exe"}));
}

}  // namespace zip_test
}  // namespace sluice::workspace
