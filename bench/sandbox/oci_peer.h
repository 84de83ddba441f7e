// An OCI runtime used directly: `RUNTIME run` of a bundle with what a box has, as far as its configuration can say it
// in few words: namespaces, no capabilities, a read-only /usr.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace sluice::bench {

class OciPeer final {
 public:
  explicit OciPeer(std::string runtime);
  ~OciPeer();
  OciPeer(const OciPeer&) = delete;
  OciPeer& operator=(const OciPeer&) = delete;

  std::string name() const { return runtime_ + " run"; }
  const std::string& missing() const { return missing_; }  // why it cannot be used here; empty if it can
  double first_byte();                                     // of `sh -c 'echo hi'`, from nothing; negative if none came

 private:
  void write_bundle() const;

  std::string runtime_;
  std::filesystem::path directory_;
  std::string missing_;
  int one_hierarchy_ = -1;
  int count_ = 0;
};

}  // namespace sluice::bench
