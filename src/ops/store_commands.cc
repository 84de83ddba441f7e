// `sluice store …`, `sluice backup` and `sluice restore`.
#include <cstdio>
#include <functional>
#include <memory>
#include <unordered_set>

#include "base/json.h"
#include "files/upkeep.h"
#include "installation/data_dir.h"
#include "installation/options.h"
#include "ops/backup.h"
#include "ops/commands.h"
#include "upkeep/upkeep.h"

namespace sluice::ops {
namespace {

constexpr Millis swept_age{24 * 3'600'000};

upkeep::Progress progress_of(std::string_view doing) {
  return [doing](std::string_view table, int64_t row_count) { show_progress(doing, table, row_count); };
}

int report_rows(const Result<int64_t>& rows, std::string_view done, Form form) {
  end_progress();
  if (!rows) return fail(rows.error().what, form);
  std::string json;
  json::Writer(json).begin_object().key("rows").integer(rows.value()).end_object();
  if (form == Form::json) {
    std::printf("%s\n", json.c_str());
  } else {
    std::printf("%s: %lld rows, those of journals among them.\n", std::string(done).c_str(),
                static_cast<long long>(rows.value()));
  }
  return cli::exit_ok;
}

// Prints what an inspection found. Returns the exit code, which says whether all of it was undamaged.
int report_findings(const BackupReport& report, std::string_view done, Form form) {
  const auto& seen = report.inspected;
  if (form == Form::json) {
    std::string json;
    json::Writer to(json);
    to.begin_object().key("rows").integer(seen.row_count).key("runs").integer(seen.run_count);
    to.key("events").integer(seen.event_count).key("files").integer(report.content_count);
    to.key("damage").begin_array();
    for (const auto& [table, id, what, remedy] : report.damage) {
      to.begin_object().key("table").string(table).key("id").string(id);
      to.key("what").string(what).key("remedy").string(remedy).end_object();
    }
    to.end_array();
    if (report.unused) {
      to.key("unused").begin_object().key("files").integer(report.unused->count);
      to.key("bytes").integer(report.unused->bytes).end_object();
    }
    to.end_object();
    std::printf("%s\n", json.c_str());
  } else {
    for (const auto& [table, id, what, remedy] : report.damage) {
      std::printf("damaged: %s%s%s: %s\n    %s\n", table.c_str(), id.empty() ? "" : " ", id.c_str(), what.c_str(),
                  remedy.c_str());
    }
    std::printf("%s: %lld rows besides the journals, %lld runs with %lld events, %lld files; ",
                std::string(done).c_str(), static_cast<long long>(seen.row_count),
                static_cast<long long>(seen.run_count), static_cast<long long>(seen.event_count),
                static_cast<long long>(report.content_count));
    std::printf(report.damage.empty() ? "no damage.\n" : "%zu damaged, named above.\n", report.damage.size());
    if (report.unused && report.unused->count > 0) {
      std::printf("%lld files that nothing names, %lld bytes: sluice store sweep removes them.\n",
                  static_cast<long long>(report.unused->count), static_cast<long long>(report.unused->bytes));
    }
  }
  return report.damage.empty() ? cli::exit_ok : cli::exit_failed;
}

// A function that says whether any row refers to a content.
Result<std::function<bool(std::string_view)>> used_contents(const std::string& location) {
  const auto used = std::make_shared<std::unordered_set<std::string>>();
  const auto read = upkeep::each_content(location, [&](std::string_view sha256) { used->emplace(sha256); });
  if (!read) return read.error();
  return std::function<bool(std::string_view)>([used](auto sha256) { return used->contains(std::string(sha256)); });
}

}  // namespace

int verify_store(const Call& call) {
  const auto& config = call.config;
  const auto form = call.form;
  ContentInspector inspector(config);
  const auto& data = config.text("server.data");
  const auto location = installation::store_location(config, data);
  const auto inspected = upkeep::verify_store(location, inspector);
  end_progress();
  if (!inspected) return fail(inspected.error().what, form);
  BackupReport report{inspected.value(), inspector.damage(), inspector.content_count()};
  // Unused files are only known if the whole store could be read.
  const auto is_used = used_contents(location);
  if (is_used && config.text("files.store").empty()) {
    const auto unused = files::count_unused(data + "/files", swept_age, is_used.value());
    if (!unused) return fail(unused.error().what, form);
    report.unused = unused.value();
  }
  return report_findings(report, "Looked at", form);
}

// Needs a stopped server, because an unfinished run may still use the bundle of a skill that has been replaced.
int sweep_files(const Call& call) {
  const auto& config = call.config;
  const auto form = call.form;
  if (!config.text("files.store").empty()) {
    return fail("files are in an object store (files.store); give its bucket a rule, or sweep it there", form);
  }
  const auto data = installation::DataDir::open(config.text("server.data"));
  if (!data) return fail(data.error().what, form);
  const auto is_used = used_contents(installation::store_location(config, data.value().path()));
  if (!is_used) return fail(is_used.error().what, form);
  const auto swept = files::sweep_directory(data.value().file("files"), swept_age, is_used.value());
  if (!swept) return fail(swept.error().what, form);
  std::string json;
  json::Writer(json)
      .begin_object()
      .key("removed")
      .integer(swept.value().count)
      .key("bytes")
      .integer(swept.value().bytes)
      .end_object();
  if (form == Form::json) {
    std::printf("%s\n", json.c_str());
  } else {
    std::printf("Removed %lld files that nothing names, %lld bytes.\n", static_cast<long long>(swept.value().count),
                static_cast<long long>(swept.value().bytes));
  }
  return cli::exit_ok;
}

int back_up(const Call& call) {
  const auto& folder = call.operands[0];
  const bool with_keys = call.has("--with-keys");
  const auto report = make_backup(call.config, {folder, with_keys, std::string(call.version)});
  end_progress();
  if (!report) return fail(report.error().what, call.form);
  if (!with_keys) {
    std::fprintf(stderr, "The vault's key and bootstrap.json are not in it (--with-keys): keep them elsewhere.\n");
  }
  return report_findings(report.value(), "Backed up into " + folder, call.form);
}

int restore(const Call& call) {
  const auto report = restore_backup(call.config, call.operands[0]);
  end_progress();
  if (!report) return fail(report.error().what, call.form);
  if (!report.value().has_keys) {
    std::fprintf(
        stderr,
        "The backup contains no keys: put vault.key into the data directory before the server starts, or it will "
        "refuse to start while there are secrets. A missing bootstrap.json is created with a new admin key.\n");
  }
  return report_findings(report.value(), "Restored", call.form);
}

int export_store(const Call& call) {
  const auto location = installation::store_location(call.config, call.config.text("server.data"));
  const auto& file = call.operands[0];
  return report_rows(upkeep::export_store(location, file, progress_of("exporting")), "Exported into " + file,
                     call.form);
}

int import_store(const Call& call) {
  const auto location = installation::store_location(call.config, call.config.text("server.data"));
  return report_rows(upkeep::import_store(location, call.operands[0], progress_of("importing")), "Imported", call.form);
}

int migrate_store(const Call& call) {
  const auto rows = upkeep::carry_store(call.operands[0], call.operands[1], progress_of("copying"));
  return report_rows(rows, "Migrated", call.form);
}

}  // namespace sluice::ops
