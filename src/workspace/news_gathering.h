// Changes of a workspace's files that were not reported yet: for each path, their sum.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "workspace/workspace.h"

namespace sluice::workspace {

class NewsGathering final {
 public:
  NewsGathering(int64_t gather_us, std::size_t paths_max) : gather_us_(gather_us), paths_max_(paths_max) {}

  // `since_us`: it happened no earlier; `now_us`: and no later.
  void note(FileNews::Kind kind, std::string path, int64_t since_us, int64_t now_us);
  // Something may have been missed.
  void note_overflow();

  bool is_empty() const { return news_.empty(); }
  // In order of time; paths are UTF-8.
  std::vector<FileNews> take();

 private:
  struct Pending {
    FileNews::Kind kind = FileNews::Kind::changed;
    std::string path;
    int64_t since_us = 0;
    bool is_reported = true;  // false: it was created and deleted in between
  };
  void append(FileNews::Kind kind, std::string path, int64_t since_us);

  const int64_t gather_us_;
  const std::size_t paths_max_;
  std::vector<Pending> news_;
  std::unordered_map<std::string, std::size_t> latest_;  // by path: where in news_
  bool overflowed_ = false;                              // in this gathering
};

}  // namespace sluice::workspace
