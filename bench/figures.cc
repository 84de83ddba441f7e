#include "bench/figures.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>

namespace sluice::bench {
namespace {

double now_of(clockid_t clock) {
  timespec at{};
  clock_gettime(clock, &at);
  return static_cast<double>(at.tv_sec) * 1e3 + static_cast<double>(at.tv_nsec) / 1e6;
}

double quantile(std::vector<double>& values, double q) {
  if (values.empty()) return 0;
  const auto at = static_cast<std::size_t>(q * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(at), values.end());
  return values[at];
}

std::string quantiles(const char* name, std::vector<double> values) {
  char text[200];
  const double p50 = quantile(values, 0.5), p99 = quantile(values, 0.99), most = quantile(values, 1.0);
  std::snprintf(text, sizeof text, R"(,"%s":{"p50":%.3f,"p99":%.3f,"max":%.3f})", name, p50, p99, most);
  return text;
}

}  // namespace

double now_ms() { return now_of(CLOCK_MONOTONIC); }

double since_created_ms(std::string_view line) {
  constexpr std::string_view mark = R"("created_at":")";
  constexpr double day_ms = 24 * 3600 * 1e3;
  const auto at = line.rfind(mark);
  if (at == std::string_view::npos || line.size() < at + mark.size() + 24) return -1;
  const std::string_view time = line.substr(at + mark.size() + 11, 12);
  const auto digits = [&](std::size_t from, std::size_t count) {
    int value = 0;
    for (std::size_t i = from; i < from + count; ++i) value = value * 10 + (time[i] - '0');
    return value;
  };
  const double created = ((digits(0, 2) * 60 + digits(3, 2)) * 60 + digits(6, 2)) * 1e3 + digits(9, 3);
  return std::fmod(now_of(CLOCK_REALTIME), day_ms) - created;
}

std::string to_json(const Figures& figures, double seconds) {
  char text[300];
  std::snprintf(text, sizeof text,
                R"({"messages":%ld,"failures":%ld,"events":%ld,"deltas":%ld,"seconds":%.3f,"per_second":%.1f)",
                figures.messages, figures.failures, figures.events, figures.deltas, seconds,
                static_cast<double>(figures.messages) / seconds);
  return text + quantiles("first_event_ms", figures.first_event_ms) +
         quantiles("first_delta_ms", figures.first_delta_ms) + quantiles("total_ms", figures.total_ms) +
         quantiles("since_created_ms", figures.since_created_ms) + quantiles("off_beat_ms", figures.off_beat_ms) + "}";
}

}  // namespace sluice::bench
