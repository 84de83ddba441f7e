// `sluice backup` and `sluice restore`: copies an installation into a folder (docs/backup.md) and back. Functions
// block; they are called from the main thread of a command.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/config.h"
#include "files/files.h"
#include "files/upkeep.h"
#include "upkeep/upkeep.h"

namespace sluice::ops {

using config::Config;

// Shows the progress of long work in one line of a terminal, which each call replaces. Prints nothing if stderr is no
// terminal.
void show_progress(std::string_view doing, std::string_view table, int64_t row_count);
// Clears that line; call it before anything else is printed.
void end_progress();

// Checks the contents that rows refer to, and collects the damage.
class ContentInspector : public upkeep::Inspector {
 public:
  explicit ContentInspector(const Config& config);
  ~ContentInspector() override;
  void on_damage(const upkeep::Damage& damage) override { damage_.push_back(damage); }
  void on_content(const upkeep::ContentUse& use) override;
  void on_progress(std::string_view table, int64_t row_count) override;
  const std::vector<upkeep::Damage>& damage() const { return damage_; }
  int64_t content_count() const { return content_count_; }

 protected:
  // Called with each undamaged content.
  virtual void on_sound_content(const std::string& /*sha256*/, std::string_view /*bytes*/) {}

 private:
  std::unique_ptr<Result<std::unique_ptr<const files::Contents>>> contents_;
  std::vector<upkeep::Damage> damage_;
  int64_t content_count_ = 0;
};

struct BackupRequest {
  std::string folder;  // must not exist
  bool with_keys = false;
  std::string version;  // of this program
};
struct BackupReport {
  upkeep::Inspected inspected;
  std::vector<upkeep::Damage> damage;  // copied into the backup as it is in the store
  int64_t content_count = 0;
  bool has_keys = false;
  std::optional<files::Unused> unused = std::nullopt;  // unused contents, if they can be listed
};

// A server may use the installation meanwhile. The folder gets its name when all of it is on disk and was checked.
Result<BackupReport> make_backup(const Config& config, const BackupRequest& request);

// Restores into the data directory and the store of `config`, which must both be empty.
Result<BackupReport> restore_backup(const Config& config, const std::string& folder);

}  // namespace sluice::ops
