// The SHA-256 of what comes in pieces.
#pragma once

#include <string>
#include <string_view>

struct evp_md_ctx_st;

namespace sluice {

class RunningSha256 {
 public:
  RunningSha256();
  ~RunningSha256();
  RunningSha256(const RunningSha256&) = delete;
  RunningSha256& operator=(const RunningSha256&) = delete;

  void add(std::string_view bytes);
  // 32 raw bytes. It begins anew after this.
  std::string finish();

 private:
  evp_md_ctx_st* context_;
};

}  // namespace sluice
