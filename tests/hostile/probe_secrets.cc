// Looks for a secret that the server's process knows and the sandbox must not. It is told backwards, so
// that the probe's own memory does not hold what it looks for.
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "tests/hostile/probe.h"

namespace sluice::hostile {
namespace {

bool holds(std::string_view text, std::string_view backwards) {
  const size_t length = backwards.size();
  for (size_t at = 0; at + length <= text.size(); ++at) {
    size_t same = 0;
    while (same < length && text[at + same] == backwards[length - 1 - same]) ++same;
    if (same == length) return true;
  }
  return false;
}

Verdict look_in(const std::string& path, const Facts& facts) {
  const std::string text = contents(path, 8 << 20);
  return holds(text, facts["canary_backwards"]) ? escaped(path + " holds the secret") : resisted(path);
}

Verdict look_in_memory(const Facts& facts) {
  const std::string maps = contents("/proc/self/maps", 1 << 20);
  const int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
  if (memory < 0) return resisted("own memory is closed");
  size_t looked = 0;
  for (size_t at = 0; at < maps.size(); at = maps.find('\n', at) + 1) {
    unsigned long from = 0;
    unsigned long to = 0;
    if (std::sscanf(maps.c_str() + at, "%lx-%lx r", &from, &to) != 2 || to - from > (64UL << 20)) continue;
    std::string region(to - from, '\0');
    const ssize_t n = pread(memory, region.data(), region.size(), static_cast<off_t>(from));
    if (n <= 0) continue;
    looked += static_cast<size_t>(n);
    if (holds({region.data(), static_cast<size_t>(n)}, facts["canary_backwards"]))
      return escaped("own memory holds the secret");
  }
  close(memory);
  return looked == 0 ? broken("no memory was read") : resisted(std::to_string(looked) + " bytes of memory");
}

Verdict secrets_of_own(const Facts& facts) {
  return worst({look_in("/proc/self/environ", facts), look_in("/proc/self/cmdline", facts),
                look_in("/proc/self/auxv", facts), look_in("/proc/self/mountinfo", facts), look_in_memory(facts)});
}

Verdict secrets_of_others(const Facts& facts) {
  Verdict sum;
  DIR* proc = opendir("/proc");
  if (proc == nullptr) return broken("no /proc");
  while (const dirent* entry = readdir(proc)) {
    if (entry->d_name[0] < '0' || entry->d_name[0] > '9') continue;
    for (const char* file : {"/environ", "/cmdline", "/auxv", "/status"}) {
      add(sum, look_in(std::string("/proc/") + entry->d_name + file, facts));
    }
  }
  closedir(proc);
  return sum;
}

struct Search {
  const Facts* facts = nullptr;
  long files = 0;
  std::string found;
};

// nftw() passes nothing through.
thread_local Search* search = nullptr;

int visit(const char* path, const struct stat*, int kind, struct FTW*) {
  if (kind != FTW_F) return 0;
  ++search->files;
  if (look_in(path, *search->facts).outcome != Outcome::escaped) return 0;
  search->found = path;
  return 1;
}

Verdict secrets_in_files(const Facts& facts) {
  Search all = {&facts, 0, {}};
  search = &all;
  for (const char* place :
       {"/etc", "/run", "/var", "/tmp", "/workspace", "/home", "/root", "/dev/shm", "/opt", "/srv", "/mnt"}) {
    if (nftw(place, visit, 20, FTW_PHYS) == 1) return escaped(all.found + " holds the secret");
  }
  return resisted(std::to_string(all.files) + " files");
}

constexpr std::array probes = {
    Probe{"secrets_of_own", secrets_of_own},
    Probe{"secrets_of_others", secrets_of_others},
    Probe{"secrets_in_files", secrets_in_files},
};

}  // namespace

std::span<const Probe> secret_probes() { return probes; }

}  // namespace sluice::hostile
