// What all conversations of the load client measured, and how they stand: looking at each would cost more than serving
// it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::bench {

double now_ms();

enum class Phase : uint8_t { connecting, creating, streaming, idle, failed };

struct Figures {
  int standing[5] = {};     // by phase
  int had_event = 0;        // since their message was sent
  bool send_again = false;  // as soon as one ends
  int count(Phase phase) const { return standing[static_cast<int>(phase)]; }

  long messages = 0;
  long failures = 0;
  long events = 0;
  long deltas = 0;
  std::vector<double> first_event_ms;
  std::vector<double> first_delta_ms;
  std::vector<double> total_ms;
  std::vector<double> since_created_ms;  // of deltas that say when they were made
  std::vector<double> off_beat_ms;       // of deltas: the distance to the one before, less what the rate says
};

// How long ago the `created_at` at the end of a line was; negative if there is none. By hand: the clock of a benchmark
// must cost less than what it measures.
double since_created_ms(std::string_view line);

// One line of JSON.
std::string to_json(const Figures& figures, double seconds);

}  // namespace sluice::bench
