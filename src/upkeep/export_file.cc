#include "upkeep/export_file.h"

#include <fcntl.h>
#include <unistd.h>
#include <zstd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/json.h"
#include "base/varint.h"

namespace sluice::upkeep {
namespace {

constexpr int zstd_level = 3;
constexpr std::size_t piece_bytes = 256 * 1024;
// No row is as large. A damaged record that announces more must not make us allocate it.
constexpr uint64_t record_bytes_max = 1024ull * 1024 * 1024;

// Tags of records. They are in files, so they never change.
constexpr char header_tag = 'H';
constexpr char table_tag = 'T';
constexpr char row_tag = 'R';
constexpr char end_tag = 'E';
constexpr char trailer_tag = 'Z';

uint64_t zigzag(int64_t value) { return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63); }
int64_t unzigzag(uint64_t value) { return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1); }

std::string partial(const std::string& path) { return path + ".partial"; }

Result<Unit> write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Error{};
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return Unit{};
}

bool sync_folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  const OwnedFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return fd && fsync(fd.get()) == 0;
}

}  // namespace

Result<std::unique_ptr<ExportWriter>> ExportWriter::create(const std::string& path) {
  if (::access(path.c_str(), F_OK) == 0) {
    return Error{ErrorKind::conflict, path + " is there already; choose another name, or remove it"};
  }
  OwnedFd fd(::open(partial(path).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!fd) return Error{ErrorKind::invalid, "make " + partial(path) + ": " + std::strerror(errno)};
  std::unique_ptr<ExportWriter> writer(new ExportWriter(path, std::move(fd)));
  std::string header;
  json::Writer(header).begin_object().key("sluice_export").integer(export_format).end_object();
  if (auto put = writer->put(header_tag, header); !put) return put.error();
  return writer;
}

ExportWriter::ExportWriter(std::string path, OwnedFd fd)
    : path_(std::move(path)), fd_(std::move(fd)), zstd_(ZSTD_createCCtx()) {
  SLUICE_CHECK(zstd_ != nullptr);
  ZSTD_CCtx_setParameter(zstd_, ZSTD_c_compressionLevel, zstd_level);
  ZSTD_CCtx_setParameter(zstd_, ZSTD_c_checksumFlag, 1);
}

ExportWriter::~ExportWriter() {
  ZSTD_freeCCtx(zstd_);
  if (!named_) unlink(partial(path_).c_str());
}

Error ExportWriter::failed() const {
  const int reason = errno;
  return {reason == ENOSPC || reason == EDQUOT ? ErrorKind::overloaded : ErrorKind::unavailable,
          "write " + path_ + ": " + std::strerror(reason)};
}

Result<Unit> ExportWriter::begin_table(const TableShape& table) {
  if (auto ended = end_table(); !ended) return ended;
  std::string about;
  json::Writer writer(about);
  writer.begin_object().key("table").string(table.name).key("columns").begin_array();
  for (const auto& column : table.columns) writer.string(column.name);
  writer.end_array().end_object();
  in_table_ = true;
  return put(table_tag, about);
}

Result<Unit> ExportWriter::end_table() {
  if (!in_table_) return Unit{};
  in_table_ = false;
  std::string count;
  append_varint(count, static_cast<uint64_t>(std::exchange(table_row_count_, 0)));
  return put(end_tag, count);
}

Result<Unit> ExportWriter::add(const RawRow& row) {
  scratch_.clear();
  for (const auto& cell : row) {
    scratch_ += static_cast<char>(cell.type);
    if (cell.type == CellType::integer) append_varint(scratch_, zigzag(cell.number));
    if (cell.type != CellType::text && cell.type != CellType::bytes) continue;
    append_varint(scratch_, cell.bytes.size());
    scratch_ += cell.bytes;
  }
  ++table_row_count_;
  ++row_count_;
  return put(row_tag, scratch_);
}

Result<Unit> ExportWriter::finish() {
  if (auto ended = end_table(); !ended) return ended;
  std::string trailer;
  append_varint(trailer, static_cast<uint64_t>(row_count_));
  trailer += digest_.finish();
  if (auto put_down = put(trailer_tag, trailer); !put_down) return put_down;
  if (auto compressed = compress(std::exchange(pending_, {}), true); !compressed) return compressed;
  if (fsync(fd_.get()) != 0) return failed();
  // link() fails if PATH was created meanwhile; rename() would replace that file.
  if (::link(partial(path_).c_str(), path_.c_str()) != 0) return failed();
  unlink(partial(path_).c_str());
  named_ = true;
  if (!sync_folder_of(path_)) return failed();
  return Unit{};
}

Result<Unit> ExportWriter::put(char tag, std::string_view payload) {
  const auto before = pending_.size();
  pending_ += tag;
  append_varint(pending_, payload.size());
  pending_ += payload;
  digest_.add(std::string_view(pending_).substr(before));
  if (pending_.size() < piece_bytes) return Unit{};
  auto compressed = compress(pending_, false);
  pending_.clear();
  return compressed;
}

Result<Unit> ExportWriter::compress(std::string_view bytes, bool is_last) {
  std::string out(ZSTD_CStreamOutSize(), '\0');
  ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
  for (;;) {
    ZSTD_outBuffer packed{out.data(), out.size(), 0};
    const auto left = ZSTD_compressStream2(zstd_, &packed, &in, is_last ? ZSTD_e_end : ZSTD_e_continue);
    SLUICE_CHECK(ZSTD_isError(left) == 0);
    if (!write_all(fd_.get(), {out.data(), packed.pos})) return failed();
    if (is_last ? left == 0 : in.pos == in.size) return Unit{};
  }
}

// ── reading ──

Result<std::unique_ptr<ExportReader>> ExportReader::open(const std::string& path) {
  OwnedFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return Error{ErrorKind::invalid, "open " + path + ": " + std::strerror(errno)};
  std::unique_ptr<ExportReader> reader(new ExportReader(path, std::move(fd)));
  if (auto read = reader->read_header(); !read) return read.error();
  return reader;
}

ExportReader::ExportReader(std::string path, OwnedFd fd)
    : path_(std::move(path)), fd_(std::move(fd)), zstd_(ZSTD_createDCtx()) {
  SLUICE_CHECK(zstd_ != nullptr);
}

ExportReader::~ExportReader() { ZSTD_freeDCtx(zstd_); }

Error ExportReader::damaged(std::string_view what) const {
  return {ErrorKind::corrupt, path_ + " " + std::string(what) + ": export it again, or take another copy"};
}

Result<Unit> ExportReader::read_header() {
  const Error foreign{ErrorKind::invalid, path_ + " is no export of a store"};
  auto record = next_record();
  if (!record || record.value().tag != header_tag) return foreign;
  const auto document = json::Document::parse(record.value().payload);
  const auto format = document ? document.value().root().find("sluice_export") : std::nullopt;
  if (!format || !format->integer()) return foreign;
  if (*format->integer() != export_format) {
    return Error{ErrorKind::invalid, path_ + " has format " + format->to_text() + ", this program knows " +
                                         std::to_string(export_format) +
                                         ": import it with the sluice that wrote it, and upgrade that"};
  }
  return Unit{};
}

Result<std::optional<std::string>> ExportReader::next_table() {
  auto record = next_record();
  if (!record) return record.error();
  if (record.value().tag == trailer_tag) {
    if (auto read = read_trailer(record.value().payload, digest_so_far_); !read) return read.error();
    return std::optional<std::string>();
  }
  if (record.value().tag != table_tag) return damaged("has a record where a table should begin");
  const auto document = json::Document::parse(record.value().payload);
  const auto name = document ? document.value().root().find("table") : std::nullopt;
  if (!name || !name->string()) return damaged("has a table without a name");
  return std::optional(std::string(*name->string()));
}

Result<const RawRow*> ExportReader::next_row() {
  auto record = next_record();
  if (!record) return record.error();
  ByteReader bytes(record.value().payload);
  if (record.value().tag == end_tag) {
    if (bytes.varint() != static_cast<uint64_t>(table_row_count_) || !bytes.at_end()) {
      return damaged("has another number of rows than it says");
    }
    table_row_count_ = 0;
    return nullptr;
  }
  if (record.value().tag != row_tag) return damaged("has another record where a row should be");
  row_.clear();
  while (!bytes.at_end()) {
    auto& cell = row_.emplace_back();
    const auto type = bytes.byte();
    if (!type || *type > static_cast<uint8_t>(CellType::bytes)) return damaged("has a value of an unknown type");
    cell.type = static_cast<CellType>(*type);
    if (cell.type == CellType::null) continue;
    const auto number = bytes.varint();
    if (!number) return damaged("has a value that is cut short");
    if (cell.type == CellType::integer) {
      cell.number = unzigzag(*number);
      continue;
    }
    const auto taken = bytes.take(*number);
    if (!taken) return damaged("has a value that is cut short");
    cell.bytes = *taken;
  }
  ++table_row_count_;
  ++row_count_;
  return &row_;
}

Result<Unit> ExportReader::read_trailer(std::string_view payload, const std::string& digest) {
  ByteReader bytes(payload);
  const auto count = bytes.varint();
  const auto written = bytes.take(32);
  if (!count || !written || !bytes.at_end()) return damaged("has a damaged end");
  if (*count != static_cast<uint64_t>(row_count_)) return damaged("has another number of rows than it says");
  if (*written != digest) return damaged("is not what was written (its digest differs)");
  if (auto filled = fill(1); !filled) return filled;
  if (plain_.size() > plain_at_) return damaged("continues after its end");
  if (!is_unpacked_) return damaged("ends too early");
  return Unit{};
}

Result<ExportReader::Record> ExportReader::next_record() {
  constexpr std::size_t prefix_bytes_max = 11;  // a tag and a varint
  if (auto filled = fill(prefix_bytes_max); !filled) return filled.error();
  const auto ahead = std::string_view(plain_).substr(plain_at_);
  ByteReader prefix(ahead.substr(0, prefix_bytes_max));
  const auto tag = prefix.byte();
  const auto size = prefix.varint();
  if (!tag || !size) return damaged("ends too early");
  if (*size > record_bytes_max) return damaged("has a record of an impossible size");
  std::string spelt;
  append_varint(spelt, *size);
  const std::size_t prefix_bytes = 1 + spelt.size();
  if (auto filled = fill(prefix_bytes + *size); !filled) return filled.error();
  if (plain_.size() - plain_at_ < prefix_bytes + *size) return damaged("ends too early");
  const auto record = std::string_view(plain_).substr(plain_at_, prefix_bytes + *size);
  plain_at_ += record.size();
  if (static_cast<char>(*tag) == trailer_tag) {
    digest_so_far_ = digest_.finish();
  } else {
    digest_.add(record);
  }
  return Record{static_cast<char>(*tag), record.substr(prefix_bytes)};
}

Result<Unit> ExportReader::fill(std::size_t size) {
  if (plain_.size() - plain_at_ >= size) return Unit{};
  plain_.erase(0, std::exchange(plain_at_, 0));
  std::string piece(ZSTD_DStreamOutSize(), '\0');
  while (plain_.size() < size) {
    if (packed_at_ == packed_.size()) {
      packed_.resize(piece_bytes);
      ssize_t count = 0;
      do count = ::read(fd_.get(), packed_.data(), packed_.size());
      while (count < 0 && errno == EINTR);
      if (count < 0) return Error{ErrorKind::unavailable, "read " + path_ + ": " + std::strerror(errno)};
      packed_.resize(static_cast<std::size_t>(count));
      packed_at_ = 0;
      if (count == 0) return Unit{};
    }
    ZSTD_inBuffer in{packed_.data(), packed_.size(), packed_at_};
    ZSTD_outBuffer out{piece.data(), piece.size(), 0};
    const auto left = ZSTD_decompressStream(zstd_, &out, &in);
    if (ZSTD_isError(left) != 0) return damaged("cannot be unpacked");
    is_unpacked_ = left == 0;
    packed_at_ = in.pos;
    plain_.append(piece, 0, out.pos);
  }
  return Unit{};
}

}  // namespace sluice::upkeep
