// The folder that a backup is: its files, and a list of their digests that says when one is missing or was changed.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace sluice::ops {

struct BackupManifest {
  std::string version;  // of the program that made it
  std::string store;    // "sluice.db" or "store.export"
  bool has_keys = false;
};

// Writes SHA256SUMS and manifest.json over all that is in the folder, each file read back from where it was written,
// and sees to it that everything is on disk.
Result<Unit> seal_backup(const std::string& folder, const BackupManifest& manifest);
// `corrupt`, with its name, for a file that is missing, changed or unknown.
Result<BackupManifest> check_backup(const std::string& folder);

// Waits until the name of `path` is on disk.
Result<Unit> sync_folder(const std::string& path);
Result<Unit> copy_file(const std::string& from, const std::string& to);

}  // namespace sluice::ops
