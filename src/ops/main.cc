// The entry point of the program.
#include <string>
#include <string_view>
#include <vector>

#include "ops/commands.h"

extern "C" char** environ;

namespace {

sluice::config::Environment read_environment() {
  sluice::config::Environment environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const auto equals = text.find('=');
    if (equals != std::string_view::npos) environment.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return environment;
}

}  // namespace

int main(int argc, char** argv) {
  // A program may be started with no arguments at all, not even its own name.
  const std::string_view program = argc < 1 ? "sluice" : argv[0];
  const auto words = argc < 1 ? std::vector<std::string>() : std::vector<std::string>(argv + 1, argv + argc);
  return sluice::ops::run(program, SLUICE_VERSION, words, read_environment());
}
