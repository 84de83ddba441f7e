// TLS towards the world, and sessions on either side: OpenSSL's, with owners.
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <memory>
#include <string>

#include "base/result.h"
#include "egress/head_parser.h"

namespace sluice::egress {

struct OpenSslFree {
  void operator()(BIO* bio) const { BIO_free_all(bio); }
  void operator()(BIO_METHOD* method) const { BIO_meth_free(method); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(SSL* session) const { SSL_free(session); }
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(X509_EXTENSION* extension) const { X509_EXTENSION_free(extension); }
};
template <typename T>
using OpenSslPtr = std::unique_ptr<T, OpenSslFree>;

// What OpenSSL complained of last, in its words; takes it off the thread's list.
std::string openssl_words();

// What both sides share: TLS 1.2 or later, no compression, HTTP/1.1.
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
  Tls(OpenSslPtr<SSL_CTX> client, OpenSslPtr<X509> house_certificate, OpenSslPtr<SSL_CTX> house,
      OpenSslPtr<BIO_METHOD> socket)
      : client_(std::move(client)),
        house_certificate_(std::move(house_certificate)),
        house_(std::move(house)),
        quiet_socket_(std::move(socket)) {}
  OpenSslPtr<SSL> session(SSL_CTX* context, int fd) const;

  OpenSslPtr<SSL_CTX> client_;
  OpenSslPtr<X509> house_certificate_;  // the context below looks at it
  OpenSslPtr<SSL_CTX> house_;           // towards our own server
  OpenSslPtr<BIO_METHOD> quiet_socket_;
};

}  // namespace sluice::egress
