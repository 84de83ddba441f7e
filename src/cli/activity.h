// What an agent does besides talking, as text for a person: commands and what they print as a terminal would show it,
// and what a run came to: the files that came, changed or went, and its own diff.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/json.h"
#include "client/client.h"

namespace sluice::cli {

// Of one run. Events in, text out: whole lines, unless it is a tool's output that has not ended its line yet.
class Activity {
 public:
  // Empty for events that are not shown.
  std::string take(const client::Event& event);
  // What ends the line of a tool's output, so that another one can begin; empty if none is open.
  std::string end_line() { return finish_line(false); }

 private:
  std::string text_of_event(std::string_view type, json::Value data);
  std::string take_output(json::Value output);
  std::string finish_line(bool is_ended);
  std::string grown_line();
  std::string take_custom(json::Value custom);
  void take_file(json::Value news);
  std::string take_changes();
  void forget_changes();

  struct File {
    std::string path;
    bool was_there;  // before the run
    bool is_there;
  };

  std::string output_id_;    // whose line is open
  std::string line_;         // as it was printed
  std::string shown_;        // of it, so far
  bool goes_on_ = false;     // its beginning was shown and is forgotten: it is a long one
  std::vector<File> files_;  // in the order of their first change
  std::unordered_map<std::string, std::size_t> places_;
  bool has_own_diff_ = false;
};

}  // namespace sluice::cli
