// Figures for operators, in Prometheus' text format. A registry is built by app and handed to each
// part; a part keeps references to its own figures, so counting costs one relaxed atomic add.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>

namespace sluice::world {

class Counter {
 public:
  void add(uint64_t n = 1) { value_.fetch_add(n, std::memory_order_relaxed); }
  uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_{0};
};

class Gauge {
 public:
  void set(int64_t value) { value_.store(value, std::memory_order_relaxed); }
  void add(int64_t n) { value_.fetch_add(n, std::memory_order_relaxed); }
  int64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> value_{0};
};

// Observed in microseconds, exposed in seconds.
class Histogram {
 public:
  static constexpr std::array<int64_t, 14> bounds_us = {100,       250,        500,        1'000,      2'500,
                                                        5'000,     10'000,     25'000,     100'000,    500'000,
                                                        1'000'000, 10'000'000, 60'000'000, 600'000'000};
  void observe_us(int64_t us);

 private:
  friend class Metrics;
  std::array<std::atomic<uint64_t>, bounds_us.size() + 1> buckets_{};
  std::atomic<int64_t> sum_us_{0};
};

class Metrics {
 public:
  // `labels` is empty or like `code="200",route="/v1/messages"`. References live as long as this.
  Counter& counter(std::string_view name, std::string_view help, std::string_view labels = "");
  Gauge& gauge(std::string_view name, std::string_view help, std::string_view labels = "");
  Histogram& histogram(std::string_view name, std::string_view help, std::string_view labels = "");

  std::string to_text() const;

 private:
  enum class Type : uint8_t { counter, gauge, histogram };
  struct Entry {
    std::string name, help, labels;
    Type type;
    Counter counter;
    Gauge gauge;
    Histogram histogram;
  };
  Entry& entry(std::string_view name, std::string_view help, std::string_view labels, Type type);
  static void append_histogram(std::string& out, const Entry& entry);

  mutable std::mutex mutex_;  // guards the list, not the figures
  std::deque<Entry> entries_;
};

}  // namespace sluice::world
