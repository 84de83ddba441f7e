#include "ops/backup.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "base/fd.h"
#include "files/upkeep.h"
#include "installation/data_dir.h"
#include "installation/options.h"
#include "ops/backup_folder.h"

namespace sluice::ops {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view sqlite_scheme = "sqlite:";
constexpr const char* database_name = "sluice.db";
constexpr const char* export_name = "store.export";
// The keys that open an installation's secrets, and the admin key.
constexpr std::array key_files = {"vault.key", "bootstrap.json"};

std::string data_dir(const Config& config) { return config.text("server.data"); }

// A folder that is being written. It is locked against other processes, and removed again unless it gets its final
// name.
class Draft {
 public:
  static Result<Draft> make(const std::string& path) {
    if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return failed("make " + path);
    OwnedFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd) return failed("open " + path);
    if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
      return Error{ErrorKind::conflict, path + " is being made by another process"};
    }
    std::error_code why;
    for (const auto& left : fs::directory_iterator(path, why))
      fs::remove_all(left.path(), why);  // left by a process that was killed
    return Draft(path, std::move(fd));
  }
  Draft(Draft&&) = default;
  Draft& operator=(Draft&&) = delete;
  ~Draft() {
    std::error_code ignored;
    if (fd_) fs::remove_all(path_, ignored);
  }

  std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }
  const std::string& path() const { return path_; }
  // Renames the folder. An empty folder of that name is replaced, anything else is not.
  Result<Unit> give_name(const std::string& name) {
    if (rename(path_.c_str(), name.c_str()) != 0) return failed("name " + name);
    fd_.reset();
    const auto parent = fs::absolute(name).parent_path().string();
    return sync_folder(parent);
  }

 private:
  Draft(std::string path, OwnedFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}
  static Error failed(const std::string& doing) { return {ErrorKind::invalid, doing + ": " + std::strerror(errno)}; }

  std::string path_;
  OwnedFd fd_;
};

bool is_empty_or_missing(const std::string& path) {
  std::error_code why;
  return !fs::exists(path, why) || (fs::is_directory(path, why) && fs::is_empty(path, why));
}

std::string without_slash(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

// Copies the undamaged contents.
class Copying final : public ContentInspector {
 public:
  Copying(const Config& config, files::Contents& to) : ContentInspector(config), to_(to) {}
  const std::optional<Error>& failure() const { return failure_; }

 private:
  void on_sound_content(const std::string& /*sha256*/, std::string_view bytes) override {
    if (failure_) return;
    if (auto kept = to_.put(bytes); !kept) failure_ = std::move(kept.error());
  }

  files::Contents& to_;
  std::optional<Error> failure_;
};

Result<bool> copy_keys(const Config& config, const Draft& draft) {
  mkdir(draft.file("keys").c_str(), 0700);
  for (const auto* name : key_files) {
    const bool elsewhere = std::string_view(name) == "vault.key" && !config.text("vault.key_file").empty();
    const auto from = elsewhere ? config.text("vault.key_file") : data_dir(config) + "/" + name;
    if (!fs::exists(from)) continue;
    if (auto copied = copy_file(from, draft.file("keys") + "/" + name); !copied) return copied.error();
  }
  return true;
}

Result<Unit> copy_store(const std::string& location, const Draft& draft) {
  if (location.starts_with(sqlite_scheme)) {
    return upkeep::copy_database(location.substr(sqlite_scheme.size()), draft.file(database_name));
  }
  const auto rows = upkeep::export_store(location, draft.file(export_name), [](std::string_view table, int64_t count) {
    show_progress("exporting", table, count);
  });
  if (!rows) return rows.error();
  return Unit{};
}

// Verifies the export by importing it, because the store itself has changed since.
Result<upkeep::Inspected> verify_export(const Draft& draft, upkeep::Inspector& inspector) {
  auto trial = Draft::make(draft.file("trial"));
  if (!trial) return trial.error();
  const auto location = std::string(sqlite_scheme) + trial.value().file(database_name);
  const auto rows = upkeep::import_store(location, draft.file(export_name), [](std::string_view, int64_t) {});
  if (!rows) return rows.error();
  return upkeep::verify_store(location, inspector);
}

}  // namespace

void show_progress(std::string_view doing, std::string_view table, int64_t row_count) {
  if (isatty(STDERR_FILENO) == 0) return;
  std::fprintf(stderr, "\r\x1b[K%s %s: %lld rows so far", std::string(doing).c_str(), std::string(table).c_str(),
               static_cast<long long>(row_count));
}

void end_progress() {
  if (isatty(STDERR_FILENO) != 0) std::fputs("\r\x1b[K", stderr);
}

// ── contents ──

ContentInspector::ContentInspector(const Config& config) {
  const auto open = [&]() -> Result<std::unique_ptr<const files::Contents>> {
    if (config.text("files.store").empty()) return files::look_into_directory(data_dir(config) + "/files");
    auto opened = installation::open_contents(config, data_dir(config));
    if (!opened) return opened.error();
    return std::unique_ptr<const files::Contents>(std::move(opened).take());
  };
  contents_ = std::make_unique<Result<std::unique_ptr<const files::Contents>>>(open());
}

ContentInspector::~ContentInspector() = default;

void ContentInspector::on_content(const upkeep::ContentUse& use) {
  constexpr const char* remedy = "put the file back from a backup (files/), or upload it again";
  const auto blame = [&](const std::string& what) { on_damage({use.table, use.id, what, remedy}); };
  if (!*contents_) return blame("its content cannot be read: " + contents_->error().what);
  const auto content = contents_->value()->open(use.sha256);
  if (!content) return blame("its content cannot be read: " + content.error().what);
  ++content_count_;
  if (static_cast<int64_t>(content.value().bytes.size()) != use.size_bytes) {
    blame("its content has another size than its row says");
  }
  on_sound_content(use.sha256, content.value().bytes);
}

void ContentInspector::on_progress(std::string_view table, int64_t row_count) {
  show_progress("checking", table, row_count);
}

// ── backup ──

Result<BackupReport> make_backup(const Config& config, const BackupRequest& request) {
  const auto folder = without_slash(request.folder);
  if (fs::exists(folder)) {
    return Error{ErrorKind::conflict, folder + " is there already; it is not overwritten: choose another name"};
  }
  auto made = Draft::make(folder + ".partial");
  if (!made) return made.error();
  auto draft = std::move(made).take();
  const auto location = installation::store_location(config, data_dir(config));
  // The store is copied first: contents are written before a row refers to them and stay while a server runs, so none
  // is missing in the copy.
  if (auto copied = copy_store(location, draft); !copied) return copied.error();
  auto contents = files::open_directory(draft.file("files"));
  if (!contents) return contents.error();
  Copying copying(config, *contents.value());
  const bool is_copy = location.starts_with(sqlite_scheme);
  auto inspected = is_copy ? upkeep::verify_store(std::string(sqlite_scheme) + draft.file(database_name), copying)
                           : verify_export(draft, copying);
  if (!inspected) return std::move(inspected.error()).in("check the copy");
  if (copying.failure()) return Error(*copying.failure()).in("copy the contents");
  rmdir(draft.file("files/unfinished").c_str());
  if (request.with_keys) {
    if (auto copied = copy_keys(config, draft); !copied) return copied.error();
  }
  const BackupManifest manifest{request.version, is_copy ? database_name : export_name, request.with_keys};
  if (auto sealed = seal_backup(draft.path(), manifest); !sealed) return sealed.error();
  if (auto named = draft.give_name(folder); !named) return named.error();
  BackupReport report{inspected.value(), copying.damage(), copying.content_count(), request.with_keys};
  report.inspected.damage_count = static_cast<int64_t>(report.damage.size());
  return report;
}

// ── restore ──

namespace {

Result<Unit> copy_files(const std::string& folder, const Draft& draft) {
  std::error_code why;
  if (fs::exists(folder + "/files", why)) {
    fs::copy(folder + "/files", draft.file("files"), fs::copy_options::recursive, why);
    if (why) return Error{ErrorKind::overloaded, "copy " + folder + "/files: " + why.message()};
  }
  for (const auto* name : key_files) {
    const auto from = folder + "/keys/" + name;
    if (!fs::exists(from, why)) continue;
    if (auto copied = copy_file(from, draft.file(name)); !copied) return copied;
  }
  return Unit{};
}

const auto quiet = [](std::string_view, int64_t) {};

// Restores into the final location of the store; a store in the data directory is restored into the draft of that.
Result<Unit> restore_store(const std::string& from, std::string_view kind, const std::string& to) {
  if (kind == export_name) {
    const auto rows = upkeep::import_store(to, from, quiet);
    return rows ? Result<Unit>(Unit{}) : rows.error();
  }
  if (to.starts_with(sqlite_scheme)) {
    const auto path = to.substr(sqlite_scheme.size());
    if (fs::exists(path)) {
      return Error{ErrorKind::conflict, path + " is there already; it is not overwritten"};
    }
    return copy_file(from, path);
  }
  const auto rows = upkeep::carry_store(std::string(sqlite_scheme) + from, to, quiet);
  return rows ? Result<Unit>(Unit{}) : rows.error();
}

}  // namespace

Result<BackupReport> restore_backup(const Config& config, const std::string& folder) {
  const auto from = without_slash(folder);
  const auto data = without_slash(data_dir(config));
  if (!is_empty_or_missing(data)) {
    return Error{ErrorKind::conflict,
                 "the data directory " + data + " is in use: restore into another one (--data DIR), or move it away"};
  }
  auto manifest = check_backup(from);
  if (!manifest) return manifest.error();
  auto made = Draft::make(data + ".restoring");
  if (!made) return made.error();
  auto draft = std::move(made).take();
  if (auto copied = copy_files(from, draft); !copied) return copied.error();
  const auto location = installation::store_location(config, draft.path());
  const auto& kind = manifest.value().store;
  if (auto restored = restore_store(from + "/" + kind, kind, location); !restored) return restored.error();
  unlink(draft.file(std::string(database_name) + ".lock").c_str());
  if (auto named = draft.give_name(data); !named) return named.error();

  ContentInspector inspector(config);
  auto inspected = upkeep::verify_store(installation::store_location(config, data), inspector);
  if (!inspected) return inspected.error();
  BackupReport report{inspected.value(), inspector.damage(), inspector.content_count(), manifest.value().has_keys};
  report.inspected.damage_count = static_cast<int64_t>(report.damage.size());
  return report;
}

}  // namespace sluice::ops
