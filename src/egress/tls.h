// TLS towards the world, and sessions on either side.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "egress/destination.h"
#include "tls/tls.h"

namespace sluice::egress {

using tls::openssl_words;
using tls::OpenSslPtr;

// Of the side that a sandbox connects to: HTTP/1.1 alone.
OpenSslPtr<SSL_CTX> make_server_context();

class Tls {
 public:
  // `ca_file` empty: the system's authorities. Whoever has the key of `house_certificate_file` is our own server.
  static Result<std::unique_ptr<Tls>> make(const std::string& ca_file, const std::string& house_certificate_file = "");

  // A session on a connected socket that `fd` stays the owner of.
  OpenSslPtr<SSL> accept(SSL_CTX* context, int fd) const;
  // Verifies the chain and that the certificate is `to`'s. Our own server's is good under any name.
  OpenSslPtr<SSL> connect(const Destination& to, int fd) const;

 private:
  Tls(OpenSslPtr<SSL_CTX> client, OpenSslPtr<X509> house_certificate, OpenSslPtr<SSL_CTX> house)
      : client_(std::move(client)), house_certificate_(std::move(house_certificate)), house_(std::move(house)) {}

  OpenSslPtr<SSL_CTX> client_;
  OpenSslPtr<X509> house_certificate_;  // the context below looks at it
  OpenSslPtr<SSL_CTX> house_;           // towards our own server
  tls::Sessions sessions_;
};

}  // namespace sluice::egress
