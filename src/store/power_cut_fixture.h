// A disk for SQLite that forgets: what was written and not synced is lost in a power cut, and a sync that fails loses
// it at once, while it is still read as if it were there. As a kernel's page cache does it.
#pragma once

#include <sqlite3.h>

#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/check.h"

namespace sluice::store {

class ForgetfulDisk {
 public:
  ForgetfulDisk() {
    self_ = this;
    real_ = sqlite3_vfs_find(nullptr);
    vfs_ = *real_;
    vfs_.zName = "forgetful";
    vfs_.pNext = nullptr;
    vfs_.szOsFile = static_cast<int>(sizeof(File)) + real_->szOsFile;
    vfs_.xOpen = open;
    vfs_.xDelete = remove;
    SLUICE_CHECK(sqlite3_vfs_register(&vfs_, 1) == SQLITE_OK);
  }
  ~ForgetfulDisk() {
    sqlite3_vfs_register(real_, 1);
    sqlite3_vfs_unregister(&vfs_);
  }
  ForgetfulDisk(const ForgetfulDisk&) = delete;
  ForgetfulDisk& operator=(const ForgetfulDisk&) = delete;

  // The next sync of a file whose name ends so.
  void fail_next_sync(const std::string& of) {
    const std::lock_guard lock(mutex_);
    failing_ = of;
  }
  bool has_failed() {
    const std::lock_guard lock(mutex_);
    return failing_.empty();
  }
  // What a file and its log are after a power cut, as another one.
  void cut_power(const std::string& path, const std::string& copy) {
    const std::lock_guard lock(mutex_);
    for (const auto* suffix : {"", "-wal"}) {
      const auto& kept = contents_[path + suffix].kept;
      if (!kept.empty()) std::ofstream(copy + suffix, std::ios::binary) << kept;
    }
  }

 private:
  struct Change {
    std::size_t offset;
    std::string bytes;
    bool is_end = false;  // the file ends at the offset
  };
  struct Content {
    std::string kept;
    std::vector<Change> lost_in_a_power_cut;
  };
  struct File {
    sqlite3_file base;
    Content* content;
    const char* path;
    sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
  };
  static File& of(sqlite3_file* file) { return *reinterpret_cast<File*>(file); }
  static sqlite3_file* real(sqlite3_file* file) { return of(file).real(); }
  static bool ends_with(std::string_view text, std::string_view end) { return text.ends_with(end); }

  static int open(sqlite3_vfs* /*vfs*/, const char* name, sqlite3_file* file, int flags, int* out_flags) {
    static const sqlite3_io_methods methods = made_methods();
    auto& opened = of(file);
    opened.base.pMethods = nullptr;
    const int code = self_->real_->xOpen(self_->real_, name, opened.real(), flags, out_flags);
    if (opened.real()->pMethods == nullptr) return code;
    const std::lock_guard lock(self_->mutex_);
    opened.content = name == nullptr ? nullptr : &self_->contents_[name];
    opened.path = name;
    opened.base.pMethods = &methods;
    return code;
  }
  static int remove(sqlite3_vfs* /*vfs*/, const char* name, int sync_folder) {
    const std::lock_guard lock(self_->mutex_);
    self_->contents_[name] = {};
    return self_->real_->xDelete(self_->real_, name, sync_folder);
  }
  static void note(File& file, Change change) {
    const std::lock_guard lock(self_->mutex_);
    if (file.content != nullptr) file.content->lost_in_a_power_cut.push_back(std::move(change));
  }
  static int write(sqlite3_file* file, const void* bytes, int size, sqlite3_int64 offset) {
    note(of(file), {static_cast<std::size_t>(offset),
                    std::string(static_cast<const char*>(bytes), static_cast<std::size_t>(size))});
    return real(file)->pMethods->xWrite(real(file), bytes, size, offset);
  }
  static int truncate(sqlite3_file* file, sqlite3_int64 size) {
    note(of(file), {static_cast<std::size_t>(size), "", true});
    return real(file)->pMethods->xTruncate(real(file), size);
  }
  static int sync(sqlite3_file* file, int /*flags*/) {
    const std::lock_guard lock(self_->mutex_);
    auto& synced = of(file);
    if (synced.content == nullptr) return SQLITE_OK;
    auto changes = std::move(synced.content->lost_in_a_power_cut);
    synced.content->lost_in_a_power_cut.clear();
    if (!self_->failing_.empty() && ends_with(synced.path, self_->failing_)) {
      self_->failing_.clear();
      return SQLITE_IOERR_FSYNC;
    }
    auto& kept = synced.content->kept;
    for (const auto& [offset, bytes, is_end] : changes) {
      if (is_end) kept.resize(std::min(kept.size(), offset));
      if (is_end) continue;
      if (kept.size() < offset + bytes.size()) kept.resize(offset + bytes.size());
      std::memcpy(kept.data() + offset, bytes.data(), bytes.size());
    }
    return SQLITE_OK;
  }

  static sqlite3_io_methods made_methods() {
    sqlite3_io_methods made{};
    made.iVersion = 2;
    made.xClose = [](sqlite3_file* file) { return real(file)->pMethods->xClose(real(file)); };
    made.xRead = [](sqlite3_file* file, void* to, int size, sqlite3_int64 offset) {
      return real(file)->pMethods->xRead(real(file), to, size, offset);
    };
    made.xWrite = write;
    made.xTruncate = truncate;
    made.xSync = sync;
    made.xFileSize = [](sqlite3_file* file, sqlite3_int64* size) {
      return real(file)->pMethods->xFileSize(real(file), size);
    };
    made.xLock = [](sqlite3_file* file, int how) { return real(file)->pMethods->xLock(real(file), how); };
    made.xUnlock = [](sqlite3_file* file, int how) { return real(file)->pMethods->xUnlock(real(file), how); };
    made.xCheckReservedLock = [](sqlite3_file* file, int* held) {
      return real(file)->pMethods->xCheckReservedLock(real(file), held);
    };
    made.xFileControl = [](sqlite3_file* file, int what, void* with) {
      return real(file)->pMethods->xFileControl(real(file), what, with);
    };
    made.xSectorSize = [](sqlite3_file* file) { return real(file)->pMethods->xSectorSize(real(file)); };
    made.xDeviceCharacteristics = [](sqlite3_file* file) {
      return real(file)->pMethods->xDeviceCharacteristics(real(file));
    };
    made.xShmMap = [](sqlite3_file* file, int page, int size, int extend, void volatile** to) {
      return real(file)->pMethods->xShmMap(real(file), page, size, extend, to);
    };
    made.xShmLock = [](sqlite3_file* file, int offset, int count, int flags) {
      return real(file)->pMethods->xShmLock(real(file), offset, count, flags);
    };
    made.xShmBarrier = [](sqlite3_file* file) { real(file)->pMethods->xShmBarrier(real(file)); };
    made.xShmUnmap = [](sqlite3_file* file, int and_delete) {
      return real(file)->pMethods->xShmUnmap(real(file), and_delete);
    };
    return made;
  }

  static inline ForgetfulDisk* self_ = nullptr;
  sqlite3_vfs* real_ = nullptr;
  sqlite3_vfs vfs_{};
  std::mutex mutex_;
  std::map<std::string, Content> contents_;  // guarded by mutex_
  std::string failing_;                      // guarded by mutex_
};

}  // namespace sluice::store
