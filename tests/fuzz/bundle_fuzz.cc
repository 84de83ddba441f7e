// Bundles and their SKILL.md: refused, or files that lie inside and survive being packed again.
#include <archive.h>
#include <archive_entry.h>

#include <algorithm>

#include "base/bytes.h"
#include "base/check.h"
#include "tests/fuzz/pieces.h"
#include "workspace/workspace.h"

using namespace sluice;

namespace {

constexpr workspace::BundleLimits limits{.unpacked_bytes_max = 1024 * 1024, .files_max = 50};

la_ssize_t append(archive*, void* out, const void* bytes, std::size_t size) {
  static_cast<std::string*>(out)->append(static_cast<const char*>(bytes), size);
  return static_cast<la_ssize_t>(size);
}

// Nobody guesses a checksum: the tar comes in the clear, and is gzipped here.
std::string gzipped(std::string_view tar) {
  std::string out;
  archive* const writer = archive_write_new();
  archive_write_set_format_raw(writer);
  archive_write_add_filter_gzip(writer);
  archive_write_set_options(writer, "gzip:compression-level=1");
  SLUICE_CHECK(archive_write_open(writer, &out, nullptr, append, nullptr) == ARCHIVE_OK);
  archive_entry* const entry = archive_entry_new();
  archive_entry_set_filetype(entry, AE_IFREG);
  archive_write_header(writer, entry);
  archive_write_data(writer, tar.data(), tar.size());
  archive_entry_free(entry);
  archive_write_free(writer);
  return out;
}

void read(std::string_view tar_gz) {
  auto read = workspace::read_bundle(tar_gz, limits);
  if (!read) {
    SLUICE_CHECK(read.error().kind == ErrorKind::invalid && is_utf8(read.error().what));
    return;
  }
  auto& files = read.value();
  for (const auto& file : files) {
    const std::string guarded = "/" + file.path + "/";
    SLUICE_CHECK(guarded.find("/../") == std::string::npos && guarded.find("//") == std::string::npos);
  }
  auto packed = workspace::pack_bundle(files, {});
  SLUICE_CHECK(bool(packed));
  const auto again = workspace::read_bundle(packed.value(), {});
  SLUICE_CHECK(bool(again) && again.value().size() == files.size());
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  for (std::size_t i = 0; i < files.size(); ++i) {
    SLUICE_CHECK(files[i].path == again.value()[i].path && files[i].bytes == again.value()[i].bytes);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto text = fuzz::text_of(data, size).substr(1);
  switch (data[0] % 3) {
    case 0: read(text); break;
    case 1: read(gzipped(text)); break;
    default:
      const auto head = workspace::read_skill_head({{"SKILL.md", std::string(text)}});
      if (head) SLUICE_CHECK(is_utf8(head.value().description) && head.value().name.size() <= 64);
      if (!head) SLUICE_CHECK(is_utf8(head.error().what));
  }
  return 0;
}
