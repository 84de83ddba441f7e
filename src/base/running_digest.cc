#include "base/running_digest.h"

#include <openssl/evp.h>

#include "base/check.h"

namespace sluice {

RunningSha256::RunningSha256() : context_(EVP_MD_CTX_new()) {
  SLUICE_CHECK(context_ != nullptr && EVP_DigestInit_ex(context_, EVP_sha256(), nullptr) == 1);
}

RunningSha256::~RunningSha256() { EVP_MD_CTX_free(context_); }

void RunningSha256::add(std::string_view bytes) {
  SLUICE_CHECK(EVP_DigestUpdate(context_, bytes.data(), bytes.size()) == 1);
}

std::string RunningSha256::finish() {
  std::string out(32, '\0');
  unsigned int size = 0;
  SLUICE_CHECK(EVP_DigestFinal_ex(context_, reinterpret_cast<unsigned char*>(out.data()), &size) == 1 && size == 32);
  SLUICE_CHECK(EVP_DigestInit_ex(context_, EVP_sha256(), nullptr) == 1);
  return out;
}

}  // namespace sluice
