// `sluice backup` and `sluice restore`: an installation as a folder (docs/backup.md), and back.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/config.h"
#include "base/result.h"
#include "files/upkeep.h"
#include "store/maintenance.h"

namespace sluice::app {

// Where the configured store is, as store/maintenance.h wants it.
std::string store_place(const Config& config, const std::string& data_dir);

// How far long work is, for a person at a terminal: one line, which each call writes over. A log wants the result only.
void tell_progress(std::string_view doing, std::string_view table, int64_t row_count);
// Clears that line, before anything else is written.
void end_progress();

// Checks the contents that rows name, and passes on what else is found.
class ContentInspector : public store::Inspector {
 public:
  explicit ContentInspector(const Config& config);
  ~ContentInspector() override;
  void on_damage(const store::Damage& damage) override { damage_.push_back(damage); }
  void on_content(const store::ContentUse& use) override;
  void on_progress(std::string_view table, int64_t row_count) override;
  const std::vector<store::Damage>& damage() const { return damage_; }
  int64_t content_count() const { return content_count_; }

 protected:
  // Of each content that is as it should be; false: it could not be kept, and no more is wanted.
  virtual void on_sound_content(const std::string& /*sha256*/, std::string_view /*bytes*/) {}

 private:
  struct Shelf;
  std::unique_ptr<Shelf> shelf_;
  std::vector<store::Damage> damage_;
  int64_t content_count_ = 0;
};

struct BackupOrder {
  std::string folder;  // must not be there
  bool with_keys = false;
  std::string version;  // of this program
};
struct BackupReport {
  store::Inspected inspected;
  std::vector<store::Damage> damage;  // it is in the backup as it is in the store
  int64_t content_count = 0;
  bool has_keys = false;
  std::optional<files::Unused> unused = std::nullopt;  // contents, where they can be looked through
};

// A server may be using the installation. The folder gets its name when all of it is on disk and was read again.
Result<BackupReport> make_backup(const Config& config, const BackupOrder& order);

// Into the data directory and the store of `config`, neither of which may have anything in it.
Result<BackupReport> restore_backup(const Config& config, const std::string& folder);

}  // namespace sluice::app
