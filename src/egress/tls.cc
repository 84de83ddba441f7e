#include "egress/tls.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <string_view>

#include "base/check.h"

namespace sluice::egress {
namespace {

constexpr std::string_view spoken("\x08http/1.1");

Result<OpenSslPtr<SSL_CTX>> make_client_context(const std::string& ca_file) {
  OpenSslPtr<SSL_CTX> context(SSL_CTX_new(TLS_client_method()));
  SLUICE_CHECK(context != nullptr);
  tls::set_rules(context.get());
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_alpn_protos(context.get(), reinterpret_cast<const unsigned char*>(spoken.data()),
                          static_cast<unsigned int>(spoken.size()));
  ERR_clear_error();
  if (ca_file.empty()) {
    SSL_CTX_set_default_verify_paths(context.get());
  } else if (SSL_CTX_load_verify_file(context.get(), ca_file.c_str()) != 1) {
    return Error{ErrorKind::invalid, "the authorities in " + ca_file + " cannot be read: " + openssl_words()};
  }
  return context;
}

// Who proves to have the key of our own certificate is our own server, which is reached under an address that its
// certificate need not name.
int verify_house(X509_STORE_CTX* chain, void* certificate) {
  if (X509_cmp(X509_STORE_CTX_get0_cert(chain), static_cast<const X509*>(certificate)) != 0) {
    return X509_verify_cert(chain);
  }
  X509_STORE_CTX_set_error(chain, X509_V_OK);
  return 1;
}

}  // namespace

OpenSslPtr<SSL_CTX> make_server_context() {
  OpenSslPtr<SSL_CTX> context(SSL_CTX_new(TLS_server_method()));
  SLUICE_CHECK(context != nullptr);
  tls::set_rules(context.get());
  SSL_CTX_set_num_tickets(context.get(), 0);
  tls::choose_among(context.get(), spoken);
  return context;
}

Result<std::unique_ptr<Tls>> Tls::make(const std::string& ca_file, const std::string& own_certificate_file) {
  auto client = make_client_context(ca_file);
  if (!client) return client.error();
  auto shared = make_client_context(ca_file);
  if (!shared) return shared.error();
  OpenSslPtr<X509> certificate;
  if (!own_certificate_file.empty()) {
    const OpenSslPtr<BIO> file(BIO_new_file(own_certificate_file.c_str(), "r"));
    if (file) certificate.reset(PEM_read_bio_X509(file.get(), nullptr, nullptr, nullptr));
    if (!certificate) {
      return Error{ErrorKind::invalid,
                   "the certificate in " + own_certificate_file + " cannot be read: " + openssl_words()};
    }
    SSL_CTX_set_cert_verify_callback(shared.value().get(), verify_house, certificate.get());
  }
  return std::unique_ptr<Tls>(new Tls(std::move(client).take(), std::move(certificate), std::move(shared).take()));
}

OpenSslPtr<SSL> Tls::accept(SSL_CTX* context, int fd) const {
  OpenSslPtr<SSL> out = sessions_.make(context, fd);
  SSL_set_accept_state(out.get());
  return out;
}

OpenSslPtr<SSL> Tls::connect(const Destination& to, int fd) const {
  OpenSslPtr<SSL> out = sessions_.make(to.is_own_server ? shared_.get() : client_.get(), fd);
  SSL_set_connect_state(out.get());
  if (to.is_address) {
    SLUICE_CHECK(X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(out.get()), to.host.c_str()) == 1);
  } else {
    SSL_set_hostflags(out.get(), X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    SLUICE_CHECK(SSL_set1_host(out.get(), to.host.c_str()) == 1);
    SSL_set_tlsext_host_name(out.get(), to.host.c_str());
  }
  return out;
}

}  // namespace sluice::egress
