// What an agent program answers: the text as the program wrote it, which it may take back in part, and as the run
// emitted it, with breaks between paragraphs and without secrets. On the loop's thread.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/lifetime.h"
#include "runs/runs.h"

namespace sluice::programs {

class ProgramAnswer {
 public:
  // `output` must outlive this. Its listener may drop this whenever it is called.
  explicit ProgramAnswer(runs::EventOutput& output) : output_(output) {}

  void say(std::string text);
  // The program keeps so many bytes of what this process of it said, and takes back the rest.
  void replace(std::size_t kept_bytes);
  // A call begins: what is said next is another paragraph.
  void end_round() { paragraphs_.end_round(); }
  // As it was emitted.
  std::string text() const;

  // Another process of the program goes on.
  void begin_process();
  // After `text`, in another life of the run.
  void restore(std::string text);

 private:
  struct Break {
    std::size_t at = 0;  // of raw_: before these bytes it was emitted
    std::string text;
  };

  runs::EventOutput& output_;
  std::string before_;  // by an earlier process of the run, as it was emitted
  std::string raw_;     // by this one
  std::vector<Break> breaks_;
  runs::Paragraphs paragraphs_;
  Lifetime lifetime_;
};

}  // namespace sluice::programs
