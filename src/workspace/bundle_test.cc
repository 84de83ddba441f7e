#include <archive.h>
#include <archive_entry.h>

#include <algorithm>

#include "workspace/tree_fixture.h"

namespace sluice::workspace {
namespace bundle_test {

using Files = std::vector<BundleFile>;

// A tar made by hand, to hold what pack_bundle() would not write.
class Tar {
 public:
  Tar() : writer_(archive_write_new()) {
    archive_write_set_format_gnutar(writer_);
    archive_write_add_filter_gzip(writer_);
    archive_write_set_bytes_in_last_block(writer_, 1);
    SLUICE_CHECK(archive_write_open(writer_, &bytes_, nullptr, append, nullptr) == ARCHIVE_OK);
  }
  Tar(const Tar&) = delete;
  Tar& operator=(const Tar&) = delete;
  ~Tar() { archive_write_free(writer_); }

  Tar& add(const std::string& path, const std::string& bytes = "x", mode_t type = AE_IFREG,
           const char* link = nullptr) {
    archive_entry* entry = archive_entry_new();
    archive_entry_set_pathname(entry, path.c_str());
    archive_entry_set_filetype(entry, type);
    archive_entry_set_perm(entry, 0644);
    archive_entry_set_size(entry, type == AE_IFREG && link == nullptr ? static_cast<la_int64_t>(bytes.size()) : 0);
    if (type == AE_IFLNK) archive_entry_set_symlink(entry, "/etc/passwd");
    if (link != nullptr) archive_entry_set_hardlink(entry, link);
    SLUICE_CHECK(archive_write_header(writer_, entry) == ARCHIVE_OK);
    if (type == AE_IFREG && link == nullptr) archive_write_data(writer_, bytes.data(), bytes.size());
    archive_entry_free(entry);
    return *this;
  }
  std::string take() {
    SLUICE_CHECK(archive_write_close(writer_) == ARCHIVE_OK);
    return bytes_;
  }

 private:
  static la_ssize_t append(archive*, void* out, const void* bytes, std::size_t size) {
    static_cast<std::string*>(out)->append(static_cast<const char*>(bytes), size);
    return static_cast<la_ssize_t>(size);
  }
  archive* writer_;
  std::string bytes_;
};

// What read_bundle() has against it; empty if nothing.
std::string complaint(const std::string& tar_gz, const BundleLimits& limits = {}) {
  const auto read = read_bundle(tar_gz, limits);
  if (read) return "";
  EXPECT_EQ(read.error().kind, ErrorKind::invalid);
  return read.error().what;
}

bool says(const std::string& text, std::string_view words) {
  if (text.find(words) != std::string::npos) return true;
  ADD_FAILURE() << "'" << text << "' does not say '" << words << "'";
  return false;
}

TEST(Bundle, What_was_packed_is_read) {
  const Files files = {
      {"SKILL.md", "---\n", false}, {"bin/run", std::string("#!\0x", 4), true}, {"ä/ö.txt", "", false}};
  const auto read = read_bundle(pack_bundle(files, {}).take(), {}).take();
  ASSERT_EQ(read.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(read[i].path, files[i].path);
    EXPECT_EQ(read[i].bytes, files[i].bytes);
    EXPECT_EQ(read[i].executable, files[i].executable);
  }
}

TEST(Bundle, The_same_files_give_the_same_bytes_in_any_order) {
  Files files;
  for (int i = 0; i < 20; ++i)
    files.push_back({"d" + std::to_string(i % 3) + "/" + std::to_string(i), std::string(i * 100, 'x')});
  const std::string packed = pack_bundle(files, {}).take();
  std::reverse(files.begin(), files.end());
  EXPECT_EQ(pack_bundle(files, {}).take(), packed);
}

TEST(Bundle, Long_paths_survive) {
  const std::string path = std::string(200, 'a') + "/" + std::string(200, 'b') + "/c";
  EXPECT_EQ(read_bundle(pack_bundle({{path, "x"}}, {}).take(), {}).take()[0].path, path);
}

TEST(Bundle, A_tar_of_the_current_directory_is_read_without_its_dots) {
  Tar tar;
  tar.add("./", "", AE_IFDIR).add("./a/", "", AE_IFDIR).add("./a/b", "bytes");
  const auto read = read_bundle(tar.take(), {}).take();
  ASSERT_EQ(read.size(), 1u);
  EXPECT_EQ(read[0].path, "a/b");
}

TEST(Bundle, Links_and_devices_are_refused) {
  says(complaint(Tar().add("l", "", AE_IFLNK).take()), "\"l\" is a link or a device");
  says(complaint(Tar().add("a").add("h", "", AE_IFREG, "a").take()), "\"h\" is a link or a device");
  says(complaint(Tar().add("d", "", AE_IFCHR).take()), "\"d\" is a link or a device");
  says(complaint(Tar().add("f", "", AE_IFIFO).take()), "\"f\" is a link or a device");
}

TEST(Bundle, Paths_that_lead_out_are_refused) {
  says(complaint(Tar().add("/etc/passwd").take()), "is absolute");
  says(complaint(Tar().add("a/../../b").take()), "has a part \"..\"");
  says(complaint(Tar().add("..").take()), "has a part \"..\"");
  says(complaint(Tar().add("a/./b").take()), "has a part \".\"");
  says(complaint(Tar().add("a//b").take()), "has an empty part");
  says(complaint(Tar().add("a\nb").take()), "has a control character");
  says(complaint(Tar().add("a\xff").take()), "is not UTF-8");
  says(complaint(Tar().add(std::string(513, 'p')).take()), "is longer than 512 bytes");
  says(complaint(Tar().add(std::string(256, 'p')).take()), "has a part longer than 255 bytes");
}

TEST(Bundle, Paths_in_each_others_way_are_refused) {
  says(complaint(Tar().add("a").add("a").take()), "has \"a\" twice");
  says(complaint(Tar().add("a").add("a/b").take()), "has \"a\" as a file and as a directory");
  says(complaint(Tar().add("a/b").add("a").take()), "has \"a\" as a file and as a directory");
  says(complaint(Tar().add("a").add("a/", "", AE_IFDIR).take()), "has \"a\" as a file and as a directory");
  EXPECT_EQ(complaint(Tar().add("a/", "", AE_IFDIR).add("a/", "", AE_IFDIR).add("a/b").take()), "");
}

TEST(Bundle, A_bomb_is_refused_at_its_limit) {
  const BundleLimits limits{.unpacked_bytes_max = 1000};
  EXPECT_EQ(complaint(Tar().add("a", std::string(1000, '0')).take(), limits), "");
  says(complaint(Tar().add("a", std::string(1001, '0')).take(), limits), "unpacks to more than 1000 bytes");
  const std::string big = Tar().add("a", std::string(100'000'000, '0')).take();
  EXPECT_LT(big.size(), 200'000u);
  says(complaint(big), "unpacks to more than");
}

TEST(Bundle, Too_many_entries_or_bytes_are_refused) {
  const BundleLimits limits{.packed_bytes_max = 10'000, .files_max = 2};
  EXPECT_EQ(complaint(Tar().add("a").add("b").take(), limits), "");
  says(complaint(Tar().add("a").add("b").add("c").take(), limits), "more than 2 entries");
  says(complaint(std::string(10'001, 'x'), limits), "larger than 10000 bytes");
}

TEST(Bundle, What_is_no_gzipped_tar_is_refused) {
  says(complaint(""), "not a whole gzipped tar");
  says(complaint("hello"), "not a whole gzipped tar");
  says(complaint(std::string(5000, '\0')), "not a");
  std::string whole = Tar().add("a", std::string(5000, 'a') + "b").take();
  says(complaint(whole.substr(0, whole.size() / 2)), "not a whole gzipped tar");
  whole[whole.size() / 2] = static_cast<char>(whole[whole.size() / 2] ^ 0x55);
  EXPECT_NE(complaint(whole), "");
}

TEST(Bundle, Packing_holds_to_the_same_rules) {
  const auto refused = [](Files files, BundleLimits limits = {}) { return !pack_bundle(std::move(files), limits); };
  EXPECT_TRUE(refused({}));
  EXPECT_TRUE(refused({{"../a", ""}}));
  EXPECT_TRUE(refused({{"a", ""}, {"a", ""}}));
  EXPECT_TRUE(refused({{"a", ""}, {"b", ""}}, {.files_max = 1}));
  EXPECT_TRUE(refused({{"a", "12345"}}, {.unpacked_bytes_max = 4}));
  EXPECT_TRUE(refused({{"a", "12345"}}, {.packed_bytes_max = 10}));
}

class WriteFiles : public TreeTest {};

TEST_F(WriteFiles, The_files_are_there_with_their_modes) {
  ASSERT_TRUE(write_files({{"a/b/c", "1", true}, {"a/d", "2", false}}, path("out"), {}));
  const std::map<std::string, std::string> expected = {
      {"a", "directory"}, {"a/b", "directory"}, {"a/b/c", "program 1"}, {"a/d", "file 2"}};
  EXPECT_EQ(look("out"), expected);
}

TEST_F(WriteFiles, A_failure_leaves_nothing_and_says_where) {
  const auto written = write_files({{"a", "1"}, {"../b", "2"}}, path("out"), {});
  ASSERT_FALSE(written);
  says(written.error().what, path("out"));
  EXPECT_TRUE(std::filesystem::is_empty(home));
}

TEST_F(WriteFiles, What_exists_is_not_touched) {
  write("out/mine", "1");
  const auto written = write_files({{"a", "1"}}, path("out"), {});
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().kind, ErrorKind::conflict);
  EXPECT_EQ(look("out").size(), 1u);
}

}  // namespace bundle_test
}  // namespace sluice::workspace
