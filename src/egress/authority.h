// The certificate authority of this installation: created once, stored in files, and trusted by sandboxes only. It
// signs a short-lived certificate for each host whose connections are decrypted. Used on the loop's thread only.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/result.h"
#include "egress/destination.h"
#include "egress/tls.h"
#include "world/world.h"

namespace sluice::egress {

class Authority {
 public:
  // Reads ca.pem and ca.key from `directory`, or creates them; writes ca-bundle.pem, which is the system's authorities,
  // those of `upstream_ca_file` (unless empty) and our own.
  static Result<std::unique_ptr<Authority>> open(const std::string& directory, const std::string& upstream_ca_file,
                                                 const world::Loop& loop, world::Entropy& entropy,
                                                 world::Histogram& mint_time);

  const std::string& bundle_file() const { return bundle_file_; }
  // The context of a server that presents itself as `host`. Its certificate is made at the first call and again before
  // it expires.
  SSL_CTX* context_for(const Destination& host);

 private:
  struct Leaf {
    OpenSslPtr<SSL_CTX> context;
    int64_t renew_us = 0;
  };

  Authority(const world::Loop& loop, world::Entropy& entropy, world::Histogram& mint_time)
      : loop_(loop), entropy_(entropy), mint_time_(mint_time) {}
  Result<Unit> load(const std::string& directory);
  Result<Unit> make(const std::string& directory);
  Result<Unit> write_bundle(const std::string& directory, const std::string& upstream_ca_file);
  OpenSslPtr<X509> blank_certificate(EVP_PKEY* key, const std::string& name, int64_t days);
  OpenSslPtr<X509> mint(const Destination& host);

  const world::Loop& loop_;
  world::Entropy& entropy_;
  world::Histogram& mint_time_;
  OpenSslPtr<EVP_PKEY> key_;
  OpenSslPtr<X509> certificate_;
  OpenSslPtr<EVP_PKEY> leaf_key_;  // one for all leaves of this process: a key costs more than a signature
  std::string bundle_file_;
  std::map<std::string, Leaf> leaves_;  // by host
};

}  // namespace sluice::egress
