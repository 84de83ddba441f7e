#include "app/start_warnings.h"

#include <memory>

#include "installation/options.h"
#include "upkeep/upkeep.h"

namespace sluice::app {
namespace {

class DamageLog final : public upkeep::Inspector {
 public:
  explicit DamageLog(world::Log& log) : log_(log) {}
  void on_damage(const upkeep::Damage& damage) override {
    log_.write(world::LogLevel::error, "the store is damaged",
               {{"table", damage.table},
                {"id", damage.id},
                {"what", damage.what},
                {"remedy", damage.remedy},
                {"more", "sluice store verify"}});
  }
  void on_content(const upkeep::ContentUse& /*content*/) override {}
  void on_progress(std::string_view /*table*/, int64_t /*row_count*/) override {}

 private:
  world::Log& log_;
};

constexpr int64_t named_max = 10;

struct Found {
  int64_t count = 0;
  std::string names;
};

void look(store::Store& store, world::Log& log, store::PageQuery<model::TenantId> query, std::shared_ptr<Found> found) {
  store::tenants(store.database(), query,
                 [&store, &log, query, found](const Result<store::Page<model::Tenant>>& page) mutable {
                   if (!page)
                     return log.write(world::LogLevel::warn, "tenants cannot be listed", {{"why", page.error().what}});
                   for (const auto& tenant : page.value().rows) {
                     if (!tenant.agui_unsigned_approvals || ++found->count > named_max) continue;
                     found->names += (found->names.empty() ? "" : " ") + tenant.id.text();
                   }
                   if (page.value().has_more) {
                     query.starting_after = page.value().rows.back().id;
                     return look(store, log, query, std::move(found));
                   }
                   if (found->count == 0) return;
                   log.write(world::LogLevel::warn,
                             "approvals count without a signature: the service key alone approves through AG-UI",
                             {{"setting", "agui_unsigned_approvals"},
                              {"count", found->count},
                              {"tenants", found->names},
                              {"remedy", "sluice tenants update ID --agui-unsigned-approvals no"}});
                 });
}

}  // namespace

void log_damage(const config::Config& config, const std::string& data_dir, world::Log& log) {
  DamageLog damage(log);
  const auto inspected = upkeep::check_unfinished(installation::store_location(config, data_dir), damage);
  if (inspected) return;
  log.write(world::LogLevel::warn, "the store was not inspected", {{"why", inspected.error().what}});
}

void warn_of_unsigned_approvals(store::Store& store, world::Log& log) {
  look(store, log, {.limit = limits::page_max}, std::make_shared<Found>());
}

}  // namespace sluice::app
