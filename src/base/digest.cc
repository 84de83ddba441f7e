#include "base/digest.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include <memory>

#include "base/check.h"

namespace sluice {

namespace {

// OpenSSL looks an algorithm up by its name each time, which costs more than to digest a line. So each is looked up
// once, and stays for good.
const EVP_MD* sha256_kind() {
  static const EVP_MD* const kind = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  SLUICE_CHECK(kind != nullptr);
  return kind;
}

// Without a key yet, to be copied.
const EVP_MAC_CTX* hmac_begun() {
  static const EVP_MAC_CTX* const begun = [] {
    auto* kind = EVP_MAC_fetch(nullptr, "HMAC", nullptr);
    auto* context = EVP_MAC_CTX_new(kind);
    char digest[] = "SHA256";
    const OSSL_PARAM settings[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
                                   OSSL_PARAM_construct_end()};
    SLUICE_CHECK(context != nullptr && EVP_MAC_CTX_set_params(context, settings) == 1);
    return context;
  }();
  return begun;
}

}  // namespace

std::string sha256(std::string_view bytes) {
  std::string out(32, '\0');
  unsigned int size = 0;
  const int done = EVP_Digest(bytes.data(), bytes.size(), reinterpret_cast<unsigned char*>(out.data()), &size,
                              sha256_kind(), nullptr);
  SLUICE_CHECK(done == 1 && size == 32);
  return out;
}

std::string hmac_sha256(std::string_view key, std::string_view bytes) {
  std::string out(32, '\0');
  std::size_t size = 0;
  const std::unique_ptr<EVP_MAC_CTX, decltype(&EVP_MAC_CTX_free)> context(EVP_MAC_CTX_dup(hmac_begun()),
                                                                          EVP_MAC_CTX_free);
  const auto bytes_of = [](std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); };
  // A null pointer would mean the key that is there already: an empty key needs an address, too.
  const auto* secret = key.empty() ? bytes_of("") : bytes_of(key);
  const bool done = EVP_MAC_init(context.get(), secret, key.size(), nullptr) == 1 &&
                    EVP_MAC_update(context.get(), bytes_of(bytes), bytes.size()) == 1 &&
                    EVP_MAC_final(context.get(), reinterpret_cast<unsigned char*>(out.data()), &size, out.size()) == 1;
  SLUICE_CHECK(done && size == 32);
  return out;
}

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace sluice
