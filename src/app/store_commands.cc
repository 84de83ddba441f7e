#include "app/store_commands.h"

#include <cstdio>
#include <functional>
#include <memory>
#include <unordered_set>

#include "app/backup.h"
#include "app/data_dir.h"
#include "base/json.h"
#include "cli/cli.h"
#include "files/upkeep.h"
#include "store/maintenance.h"

namespace sluice::app {
namespace {

constexpr Millis swept_age{24 * 3'600'000};

int complain(std::string_view what, Form form) {
  std::fprintf(stderr, "sluice: %s\n", std::string(what).c_str());
  if (form == Form::json) std::printf("%s\n", cli::error_json(what).c_str());
  return cli::exit_failed;
}

store::Progress progress_of(std::string_view doing) {
  return [doing](std::string_view table, int64_t row_count) { tell_progress(doing, table, row_count); };
}

int tell_rows(const Result<int64_t>& rows, std::string_view done, Form form) {
  end_progress();
  if (!rows) return complain(rows.error().what, form);
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

// What was found in it; the exit code says if all of it was sound.
int tell_report(const BackupReport& report, std::string_view done, Form form) {
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

// Whether some row names a content.
Result<std::function<bool(std::string_view)>> names_of_contents(const std::string& place) {
  const auto used = std::make_shared<std::unordered_set<std::string>>();
  const auto read = store::each_content(place, [&](std::string_view sha256) { used->emplace(sha256); });
  if (!read) return read.error();
  return std::function<bool(std::string_view)>([used](auto sha256) { return used->contains(std::string(sha256)); });
}

int verify(const Config& config, Form form) {
  ContentInspector inspector(config);
  const auto& data = config.text("server.data");
  const auto place = store_place(config, data);
  const auto inspected = store::verify_store(place, inspector);
  end_progress();
  if (!inspected) return complain(inspected.error().what, form);
  BackupReport report{inspected.value(), inspector.damage(), inspector.content_count()};
  // Of a store that cannot be read whole nobody can say what it does not name.
  const auto is_used = names_of_contents(place);
  if (is_used && config.text("files.store").empty()) {
    const auto unused = files::count_unused(data + "/files", swept_age, is_used.value());
    if (!unused) return complain(unused.error().what, form);
    report.unused = unused.value();
  }
  return tell_report(report, "Looked at", form);
}

// Only while nobody runs: a run that is under way may still use a bundle whose skill was replaced since.
int sweep(const Config& config, Form form) {
  if (!config.text("files.store").empty()) {
    return complain("files are in an object store (files.store); give its bucket a rule, or sweep it there", form);
  }
  const auto data = DataDir::open(config.text("server.data"));
  if (!data) return complain(data.error().what, form);
  const auto is_used = names_of_contents(store_place(config, data.value().path()));
  if (!is_used) return complain(is_used.error().what, form);
  const auto swept = files::sweep_directory(data.value().file("files"), swept_age, is_used.value());
  if (!swept) return complain(swept.error().what, form);
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

int back_up(const StoreOrder& order, const Config& config, Form form) {
  const auto report = make_backup(config, {order.places[0], order.with_keys, order.version});
  end_progress();
  if (!report) return complain(report.error().what, form);
  if (!order.with_keys) {
    std::fprintf(stderr, "The vault's key and bootstrap.json are not in it (--with-keys): keep them elsewhere.\n");
  }
  return tell_report(report.value(), "Backed up into " + order.places[0], form);
}

int restore(const StoreOrder& order, const Config& config, Form form) {
  const auto report = restore_backup(config, order.places[0]);
  end_progress();
  if (!report) return complain(report.error().what, form);
  if (!report.value().has_keys) {
    std::fprintf(stderr,
                 "The backup has no keys: put vault.key into the data directory before the server starts, or it will "
                 "refuse to while there are secrets. A missing bootstrap.json is made anew, with another admin key.\n");
  }
  return tell_report(report.value(), "Restored", form);
}

}  // namespace

StoreOrder take_store_order(std::string_view command, std::vector<std::string>& words) {
  StoreOrder order{.command = std::string(command)};
  order.with_keys = command == "backup" && std::erase(words, "--with-keys") > 0;
  const auto is_word = [&] { return !words.empty() && !words[0].starts_with("--"); };
  const auto take = [&] {
    auto word = std::move(words[0]);
    words.erase(words.begin());
    return word;
  };
  if (command == "store" && is_word()) order.verb = take();
  while (is_word()) order.places.push_back(take());
  return order;
}

std::string misuse_of(const StoreOrder& order) {
  const auto wants = [&](std::size_t count, std::string_view what) {
    return order.places.size() == count ? "" : std::string(what);
  };
  if (order.command == "backup") return wants(1, "backup wants one DIR, and flags after it");
  if (order.command == "restore") return wants(1, "restore wants one DIR, and flags after it");
  if (order.verb == "verify" || order.verb == "sweep") return wants(0, order.verb + " wants flags only");
  if (order.verb == "export" || order.verb == "import")
    return wants(1, order.verb + " wants one FILE, and flags after it");
  if (order.verb == "migrate") return wants(2, "migrate wants two places: sqlite:PATH or postgresql://…");
  return order.verb.empty()
             ? "store wants verify, export, import, migrate or sweep"
             : "there is no store " + order.verb + "; there are verify, export, import, migrate and sweep";
}

int run_store(const StoreOrder& order, const Config& config, Form form) {
  if (order.command == "backup") return back_up(order, config, form);
  if (order.command == "restore") return restore(order, config, form);
  if (order.verb == "verify") return verify(config, form);
  if (order.verb == "sweep") return sweep(config, form);
  const auto place = store_place(config, config.text("server.data"));
  if (order.verb == "export") {
    return tell_rows(store::export_store(place, order.places[0], progress_of("exporting")),
                     "Exported into " + order.places[0], form);
  }
  if (order.verb == "import") {
    return tell_rows(store::import_store(place, order.places[0], progress_of("importing")), "Imported", form);
  }
  return tell_rows(store::carry_store(order.places[0], order.places[1], progress_of("carrying")), "Carried over", form);
}

}  // namespace sluice::app
