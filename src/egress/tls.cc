#include "egress/tls.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <cerrno>
#include <string_view>

#include "base/check.h"

namespace sluice::egress {
namespace {

constexpr unsigned char spoken[] = "\x08http/1.1";

// OpenSSL's own socket BIO writes with write(2), which raises SIGPIPE when the peer has left.
int send_quietly(BIO* bio, const char* data, int size) {
  BIO_clear_retry_flags(bio);
  const ssize_t sent =
      ::send(static_cast<int>(BIO_get_fd(bio, nullptr)), data, static_cast<std::size_t>(size), MSG_NOSIGNAL);
  if (sent < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_write(bio);
  return static_cast<int>(sent);
}

OpenSslPtr<BIO_METHOD> make_quiet_socket() {
  const BIO_METHOD* const socket = BIO_s_socket();
  OpenSslPtr<BIO_METHOD> quiet(BIO_meth_new(BIO_TYPE_SOCKET, "socket without SIGPIPE"));
  SLUICE_CHECK(quiet != nullptr);
  BIO_meth_set_write(quiet.get(), send_quietly);
  BIO_meth_set_read(quiet.get(), BIO_meth_get_read(socket));
  BIO_meth_set_ctrl(quiet.get(), BIO_meth_get_ctrl(socket));
  BIO_meth_set_create(quiet.get(), BIO_meth_get_create(socket));
  BIO_meth_set_destroy(quiet.get(), BIO_meth_get_destroy(socket));
  return quiet;
}

// A client that offers HTTP/2 alone is told so by the handshake; one that offers nothing is welcome.
int choose_protocol(SSL*, const unsigned char** out, unsigned char* out_size, const unsigned char* offered,
                    unsigned int offered_size, void*) {
  unsigned char* chosen = nullptr;
  if (SSL_select_next_proto(&chosen, out_size, spoken, sizeof spoken - 1, offered, offered_size) !=
      OPENSSL_NPN_NEGOTIATED) {
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  }
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

void set_rules(SSL_CTX* context) {
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_IGNORE_UNEXPECTED_EOF);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
}

Result<OpenSslPtr<SSL_CTX>> make_client_context(const std::string& ca_file) {
  OpenSslPtr<SSL_CTX> context(SSL_CTX_new(TLS_client_method()));
  SLUICE_CHECK(context != nullptr);
  set_rules(context.get());
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_alpn_protos(context.get(), spoken, sizeof spoken - 1);
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

std::string openssl_words() {
  const unsigned long code = ERR_peek_last_error();
  const char* const reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  ERR_clear_error();
  return reason == nullptr ? "for no reason given" : reason;
}

OpenSslPtr<SSL_CTX> make_server_context() {
  OpenSslPtr<SSL_CTX> context(SSL_CTX_new(TLS_server_method()));
  SLUICE_CHECK(context != nullptr);
  set_rules(context.get());
  SSL_CTX_set_num_tickets(context.get(), 0);
  SSL_CTX_set_alpn_select_cb(context.get(), choose_protocol, nullptr);
  return context;
}

Result<std::unique_ptr<Tls>> Tls::make(const std::string& ca_file, const std::string& house_certificate_file) {
  auto client = make_client_context(ca_file);
  if (!client) return client.error();
  auto house = make_client_context(ca_file);
  if (!house) return house.error();
  OpenSslPtr<X509> certificate;
  if (!house_certificate_file.empty()) {
    const OpenSslPtr<BIO> file(BIO_new_file(house_certificate_file.c_str(), "r"));
    if (file) certificate.reset(PEM_read_bio_X509(file.get(), nullptr, nullptr, nullptr));
    if (!certificate) {
      return Error{ErrorKind::invalid,
                   "the certificate in " + house_certificate_file + " cannot be read: " + openssl_words()};
    }
    SSL_CTX_set_cert_verify_callback(house.value().get(), verify_house, certificate.get());
  }
  return std::unique_ptr<Tls>(
      new Tls(std::move(client).take(), std::move(certificate), std::move(house).take(), make_quiet_socket()));
}

OpenSslPtr<SSL> Tls::session(SSL_CTX* context, int fd) const {
  OpenSslPtr<SSL> out(SSL_new(context));
  BIO* const bio = BIO_new(quiet_socket_.get());
  SLUICE_CHECK(out != nullptr && bio != nullptr);
  BIO_set_fd(bio, fd, BIO_NOCLOSE);
  SSL_set_bio(out.get(), bio, bio);
  return out;
}

OpenSslPtr<SSL> Tls::accept(SSL_CTX* context, int fd) const {
  OpenSslPtr<SSL> out = session(context, fd);
  SSL_set_accept_state(out.get());
  return out;
}

OpenSslPtr<SSL> Tls::connect(const Destination& to, int fd) const {
  OpenSslPtr<SSL> out = session(to.is_house ? house_.get() : client_.get(), fd);
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
