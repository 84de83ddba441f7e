#include "world/metrics.h"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "base/check.h"

namespace sluice::world {
namespace {

// Microseconds as seconds, without a float's rounding: 2500 is "0.0025".
std::string seconds_text(int64_t us) {
  char text[32];
  std::snprintf(text, sizeof text, "%lld.%06lld", static_cast<long long>(us / 1'000'000),
                static_cast<long long>(us % 1'000'000));
  std::string out = text;
  out.erase(out.find_last_not_of('0') + 1);
  if (out.back() == '.') out.pop_back();
  return out;
}

void append_sample(std::string& out, std::string_view name, std::string_view suffix, std::string_view labels,
                   std::string_view value) {
  out.append(name).append(suffix);
  if (!labels.empty()) out.append("{").append(labels).append("}");
  out.append(" ").append(value).append("\n");
}

}  // namespace

void Histogram::observe_us(int64_t us) {
  const auto bound = std::lower_bound(bounds_us.begin(), bounds_us.end(), us);  // a bound is within its bucket
  buckets_[static_cast<std::size_t>(bound - bounds_us.begin())].fetch_add(1, std::memory_order_relaxed);
  sum_us_.fetch_add(us, std::memory_order_relaxed);
}

Metrics::Entry& Metrics::entry(std::string_view name, std::string_view help, std::string_view labels, Type type) {
  const std::lock_guard lock(mutex_);
  for (auto& known : entries_) {
    if (known.name != name) continue;
    SLUICE_CHECK(known.type == type);
    if (known.labels == labels) return known;
  }
  Entry& added = entries_.emplace_back();
  added.name = name;
  added.help = help;
  added.labels = labels;
  added.type = type;
  return added;
}

Counter& Metrics::counter(std::string_view name, std::string_view help, std::string_view labels) {
  return entry(name, help, labels, Type::counter).counter;
}
Gauge& Metrics::gauge(std::string_view name, std::string_view help, std::string_view labels) {
  return entry(name, help, labels, Type::gauge).gauge;
}
Histogram& Metrics::histogram(std::string_view name, std::string_view help, std::string_view labels) {
  return entry(name, help, labels, Type::histogram).histogram;
}

void Metrics::append_histogram(std::string& out, const Entry& entry) {
  const std::string before_le = entry.labels.empty() ? "" : entry.labels + ",";
  uint64_t count = 0;
  for (std::size_t i = 0; i < entry.histogram.buckets_.size(); ++i) {
    count += entry.histogram.buckets_[i].load(std::memory_order_relaxed);
    const bool last = i == Histogram::bounds_us.size();
    const std::string bound = last ? "+Inf" : seconds_text(Histogram::bounds_us[i]);
    append_sample(out, entry.name, "_bucket", before_le + "le=\"" + bound + "\"", std::to_string(count));
  }
  const int64_t sum_us = entry.histogram.sum_us_.load(std::memory_order_relaxed);
  append_sample(out, entry.name, "_sum", entry.labels, seconds_text(sum_us));
  append_sample(out, entry.name, "_count", entry.labels, std::to_string(count));
}

std::string Metrics::to_text() const {
  static constexpr std::string_view type_names[] = {"counter", "gauge", "histogram"};
  const std::lock_guard lock(mutex_);
  // The format wants all samples of a name together, whenever their labels were first seen.
  std::vector<const Entry*> sorted;
  for (const auto& entry : entries_) sorted.push_back(&entry);
  std::stable_sort(sorted.begin(), sorted.end(), [](const Entry* a, const Entry* b) { return a->name < b->name; });

  std::string out;
  std::string_view last_name;
  for (const Entry* entry : sorted) {
    if (entry->name != last_name) {
      last_name = entry->name;
      out.append("# HELP ").append(last_name).append(" ").append(entry->help).append("\n");
      out.append("# TYPE ")
          .append(last_name)
          .append(" ")
          .append(type_names[static_cast<int>(entry->type)])
          .append("\n");
    }
    switch (entry->type) {
      case Type::counter:
        append_sample(out, entry->name, "", entry->labels, std::to_string(entry->counter.value()));
        break;
      case Type::gauge: append_sample(out, entry->name, "", entry->labels, std::to_string(entry->gauge.value())); break;
      case Type::histogram: append_histogram(out, *entry); break;
    }
  }
  return out;
}

}  // namespace sluice::world
