#include "app/damage_log.h"

#include "app/backup.h"
#include "store/maintenance.h"

namespace sluice::app {
namespace {

class DamageLog final : public store::Inspector {
 public:
  explicit DamageLog(world::Log& log) : log_(log) {}
  void on_damage(const store::Damage& damage) override {
    log_.write(world::LogLevel::error, "the store is damaged",
               {{"table", damage.table},
                {"id", damage.id},
                {"what", damage.what},
                {"remedy", damage.remedy},
                {"more", "sluice store verify"}});
  }
  void on_content(const store::ContentUse& /*content*/) override {}
  void on_progress(std::string_view /*table*/, int64_t /*row_count*/) override {}

 private:
  world::Log& log_;
};

}  // namespace

void log_damage(const Config& config, const std::string& data_dir, world::Log& log) {
  DamageLog damage(log);
  const auto looked = store::check_unfinished(store_place(config, data_dir), damage);
  if (looked) return;
  log.write(world::LogLevel::warn, "the store was not looked through", {{"why", looked.error().what}});
}

}  // namespace sluice::app
