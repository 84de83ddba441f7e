#include "store/on_disk.h"

#include <fcntl.h>
#include <sys/file.h>
#include <zstd.h>

#include <cerrno>
#include <cstring>

#include "base/check.h"
#include "store/sqlite_connection.h"

namespace sluice::store {
namespace {

constexpr int zstd_level = 3;
// No row is as large. A damaged row that announces more must not make us allocate it.
constexpr std::size_t unpacked_bytes_max = 64 * 1024 * 1024;

}  // namespace

Result<OwnedFd> lock_database(const std::string& path) {
  const std::string name = path + ".lock";
  OwnedFd held(::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!held) return Error{ErrorKind::invalid, name + " cannot be made: " + std::strerror(errno)};
  if (::flock(held.get(), LOCK_EX | LOCK_NB) != 0) return Error{ErrorKind::conflict, "another server uses it"};
  return held;
}

Result<Unit> make_sqlite(const std::string& path) {
  auto connection = SqliteConnection::open(path, SqliteConnection::Mode::writer);
  if (!connection) return connection.error();
  return migrate(*connection.value());
}

Packer::Packer() : zstd_(ZSTD_createCCtx(), [](ZSTD_CCtx* zstd) { ZSTD_freeCCtx(zstd); }) {
  SLUICE_CHECK(zstd_ != nullptr);
  ZSTD_CCtx_setParameter(zstd_.get(), ZSTD_c_compressionLevel, zstd_level);
  ZSTD_CCtx_setParameter(zstd_.get(), ZSTD_c_checksumFlag, 1);
}

std::string Packer::pack(std::string_view batch) {
  std::string packed(ZSTD_compressBound(batch.size()), '\0');
  const auto size = ZSTD_compress2(zstd_.get(), packed.data(), packed.size(), batch.data(), batch.size());
  SLUICE_CHECK(ZSTD_isError(size) == 0);
  packed.resize(size);
  return packed;
}

std::optional<std::string> unpack(std::string_view packed) {
  const auto size = ZSTD_getFrameContentSize(packed.data(), packed.size());
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN || size > unpacked_bytes_max) return {};
  std::string bytes(size, '\0');
  if (ZSTD_decompress(bytes.data(), bytes.size(), packed.data(), packed.size()) != size) return {};
  return bytes;
}

model::AuditEntry next_link(model::AuditEntry entry, const ChainEnd& end) {
  entry.number = end.number + 1;
  entry.previous_sha256 = end.sha256;
  entry.sha256 = model::digest_of(entry);
  return entry;
}

}  // namespace sluice::store
