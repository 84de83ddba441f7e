// Text on its way out of a run, without the values of the run's secrets. Where there are none, it is
// handed through.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "vault/vault.h"

namespace sluice::runs {

// Shared with the engine, which replaces them, and with every event output: a sandbox's processes may outlive the run.
using SharedSecrets = std::shared_ptr<const vault::Secrets>;

// One stream, in pieces: what may be the beginning of a value is held back.
class ScrubbedText {
 public:
  // Null: there are none. Those that come while the text flows count from then on.
  explicit ScrubbedText(SharedSecrets secrets) : secrets_(std::move(secrets)) {}

  // What can be emitted now; perhaps nothing.
  std::string push(std::string piece);
  // The rest. What is pushed after it is another text.
  std::string finish();

 private:
  const SharedSecrets secrets_;
  std::shared_ptr<const vault::Scrubber> scrubber_;  // shared, because it is of many secrets
  std::optional<vault::ScrubStream> stream_;         // empty: there is nothing to look for
};

// A whole text.
std::string scrubbed(const SharedSecrets& secrets, std::string text);
// JSON whose strings are scrubbed, also the names of members but for those of the outermost object, which are ours.
// What is no JSON is scrubbed as text.
std::string scrubbed_json(const SharedSecrets& secrets, std::string text);

}  // namespace sluice::runs
