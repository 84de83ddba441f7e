#include <archive.h>
#include <archive_entry.h>

#include <memory>
#include <set>

#include "workspace/utf8_names.h"
#include "workspace/workspace.h"

namespace sluice::workspace {
namespace {

constexpr int zip_entries_max = 10'000;

struct FreeWriter {
  void operator()(archive* writer) const { archive_write_free(writer); }
};
struct FreeReader {
  void operator()(archive* reader) const { archive_read_free(reader); }
};
struct FreeEntry {
  void operator()(archive_entry* entry) const { archive_entry_free(entry); }
};

bool write_entry(archive* writer, const std::string& name, std::string_view bytes) {
  const std::unique_ptr<archive_entry, FreeEntry> entry(archive_entry_new());
  archive_entry_set_pathname_utf8(entry.get(), name.c_str());
  archive_entry_set_filetype(entry.get(), AE_IFREG);
  archive_entry_set_perm(entry.get(), 0644);
  archive_entry_set_size(entry.get(), static_cast<la_int64_t>(bytes.size()));
  if (archive_write_header(writer, entry.get()) != ARCHIVE_OK) return false;
  while (!bytes.empty()) {
    const la_ssize_t written = archive_write_data(writer, bytes.data(), bytes.size());
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

// Also where names are compared without regard to case.
class Names final {
 public:
  std::string unique(const std::string& name) {
    const auto dot = name.rfind('.');
    const auto cut = dot == std::string::npos || dot == 0 ? name.size() : dot;
    std::string out = name;
    for (int n = 1; !taken_.insert(lower(out)).second; ++n) {
      out = name.substr(0, cut) + "-" + std::to_string(n) + name.substr(cut);
    }
    return out;
  }

 private:
  static std::string lower(std::string text) {
    for (char& c : text) {
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    return text;
  }
  std::set<std::string> taken_;
};

}  // namespace

Result<Unit> write_zip(int fd, const std::vector<ZipEntry>& entries) {
  const Utf8Names utf8;
  const std::unique_ptr<archive, FreeWriter> writer(archive_write_new());
  const auto failed = [&] {
    const char* const why = archive_error_string(writer.get());
    return Error{ErrorKind::overloaded, std::string("write a zip: ") + (why != nullptr ? why : "out of memory")};
  };
  if (writer == nullptr || archive_write_set_format_zip(writer.get()) != ARCHIVE_OK ||
      archive_write_set_options(writer.get(), "hdrcharset=UTF-8") < ARCHIVE_WARN ||
      archive_write_open_fd(writer.get(), fd) != ARCHIVE_OK) {
    return failed();
  }
  Names names;
  for (const auto& [name, bytes] : entries) {
    if (!write_entry(writer.get(), names.unique(name), bytes)) return failed();
  }
  if (archive_write_close(writer.get()) != ARCHIVE_OK) return failed();
  return Unit{};
}

Result<std::string> read_from_zip(std::string_view zip, std::string_view name, std::size_t bytes_max) {
  const Utf8Names utf8;
  const auto invalid = [&](const std::string& why) {
    return Error{ErrorKind::invalid, "the zip has no whole file " + std::string(name) + why};
  };
  const std::unique_ptr<archive, FreeReader> reader(archive_read_new());
  if (reader == nullptr || archive_read_support_format_zip(reader.get()) != ARCHIVE_OK ||
      archive_read_open_memory(reader.get(), zip.data(), zip.size()) != ARCHIVE_OK) {
    return invalid(": it cannot be read");
  }
  archive_entry* entry = nullptr;
  for (int looked_at = 0; archive_read_next_header(reader.get(), &entry) == ARCHIVE_OK; ++looked_at) {
    if (looked_at == zip_entries_max) break;
    const char* const path = archive_entry_pathname_utf8(entry);
    if (path == nullptr || path != name || archive_entry_filetype(entry) != AE_IFREG) continue;
    std::string bytes;
    char piece[64 * 1024];
    for (;;) {
      const la_ssize_t size = archive_read_data(reader.get(), piece, sizeof piece);
      if (size < 0) return invalid(": it is damaged");
      if (size == 0) return bytes;
      bytes.append(piece, static_cast<std::size_t>(size));
      if (bytes.size() > bytes_max) return invalid(" of at most " + std::to_string(bytes_max) + " bytes");
    }
  }
  return invalid("");
}

}  // namespace sluice::workspace
