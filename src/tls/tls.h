// TLS for the server and the egress proxy: what their contexts and sessions have in common. OpenSSL's objects, with
// owners.
//
// Not its business: certificates and authorities, and who is trusted.
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <memory>
#include <string>
#include <string_view>

namespace sluice::tls {

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

// The last complaint of OpenSSL, in its words; removes it from the thread's list.
std::string openssl_words();

// TLS 1.2 or later, without renegotiation, compression and a cache of sessions; for sockets that do not block.
void set_rules(SSL_CTX* context);
// Of a server: chooses one of `protocols` (ALPN, as they are sent: each after its length), in that order. A client that
// offers others alone is refused by the handshake; one that offers nothing is welcome. `protocols` must outlive the
// context.
void choose_among(SSL_CTX* context, const std::string_view& protocols);

// Makes sessions on sockets. They do not raise SIGPIPE when the peer has left, as OpenSSL's own do.
class Sessions final {
 public:
  Sessions();
  // On a connected socket that `fd` stays the owner of. This must outlive the session.
  OpenSslPtr<SSL> make(SSL_CTX* context, int fd) const;

 private:
  OpenSslPtr<BIO_METHOD> quiet_socket_;
};

}  // namespace sluice::tls
