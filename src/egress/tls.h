// TLS contexts and sessions: towards upstream servers, and towards clients in sandboxes. Used on the loop's thread
// only.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "egress/destination.h"
#include "tls/tls.h"

namespace sluice::egress {

using tls::openssl_words;
using tls::OpenSslPtr;

// The context for connections from sandboxes; it offers HTTP/1.1 only.
OpenSslPtr<SSL_CTX> make_server_context();

class Tls {
 public:
  // `ca_file` empty: the system's authorities. A server that has the key of `own_certificate_file` is our own.
  static Result<std::unique_ptr<Tls>> make(const std::string& ca_file, const std::string& own_certificate_file = "");

  // A session on a connected socket; the caller keeps `fd`.
  OpenSslPtr<SSL> accept(SSL_CTX* context, int fd) const;
  // Verifies the chain and that the certificate belongs to `to`. Our own server's is valid under any name.
  OpenSslPtr<SSL> connect(const Destination& to, int fd) const;

 private:
  Tls(OpenSslPtr<SSL_CTX> client, OpenSslPtr<X509> own_certificate, OpenSslPtr<SSL_CTX> shared)
      : client_(std::move(client)), own_certificate_(std::move(own_certificate)), shared_(std::move(shared)) {}

  OpenSslPtr<SSL_CTX> client_;
  OpenSslPtr<X509> own_certificate_;  // the context below looks at it
  OpenSslPtr<SSL_CTX> shared_;        // towards our own server
  tls::Sessions sessions_;
};

}  // namespace sluice::egress
