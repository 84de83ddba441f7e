// Goes through the corpus of one fuzz target: corpus_test TARGET DIRECTORY. Whatever breaks, breaks as it does under
// the fuzzer: by a failed check or by the sanitizer.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

namespace {

struct Target {
  std::string_view name;
  int (*run)(const uint8_t* data, std::size_t size);
};

}  // namespace

#include "fuzz_targets.h"

namespace {

int go_through(const Target& target, const std::filesystem::path& directory) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    std::printf("%s\n", entry.path().c_str());
    std::fflush(stdout);
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    target.run(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
    ++count;
  }
  if (count == 0) std::fprintf(stderr, "%s has no seeds: put some there\n", directory.c_str());
  return count > 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  for (const auto& target : targets) {
    if (argc == 3 && target.name == argv[1]) return go_through(target, argv[2]);
  }
  std::fprintf(stderr, "corpus_test TARGET DIRECTORY\n");
  return 2;
}
