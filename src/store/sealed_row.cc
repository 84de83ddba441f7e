#include "store/sealed_row.h"

#include <zstd.h>

#include "base/check.h"

namespace sluice::store {
namespace {

constexpr int zstd_level = 3;
// More than any row holds: a size beyond it is damage, not a reason to allocate.
constexpr std::size_t unpacked_bytes_max = 64 * 1024 * 1024;

}  // namespace

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

}  // namespace sluice::store
