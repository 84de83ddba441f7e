#include "tls/tls.h"

#include <openssl/err.h>
#include <sys/socket.h>

#include <cerrno>

#include "base/check.h"

namespace sluice::tls {
namespace {

// OpenSSL's own socket BIO writes with write(2), which raises SIGPIPE when the peer has left.
int send_quietly(BIO* bio, const char* data, int size) {
  BIO_clear_retry_flags(bio);
  const ssize_t sent =
      ::send(static_cast<int>(BIO_get_fd(bio, nullptr)), data, static_cast<std::size_t>(size), MSG_NOSIGNAL);
  if (sent < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_write(bio);
  return static_cast<int>(sent);
}

int choose_protocol(SSL*, const unsigned char** out, unsigned char* out_size, const unsigned char* offered,
                    unsigned int offered_size, void* protocols) {
  const auto& ours = *static_cast<const std::string_view*>(protocols);
  unsigned char* chosen = nullptr;
  if (SSL_select_next_proto(&chosen, out_size, reinterpret_cast<const unsigned char*>(ours.data()),
                            static_cast<unsigned int>(ours.size()), offered, offered_size) != OPENSSL_NPN_NEGOTIATED) {
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  }
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

}  // namespace

std::string openssl_words() {
  const unsigned long code = ERR_peek_last_error();
  const char* const reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  ERR_clear_error();
  return reason == nullptr ? "for no reason given" : reason;
}

void set_rules(SSL_CTX* context) {
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_IGNORE_UNEXPECTED_EOF);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
}

void choose_among(SSL_CTX* context, const std::string_view& protocols) {
  // OpenSSL passes it on as it is, and choose_protocol() only reads it.
  SSL_CTX_set_alpn_select_cb(context, choose_protocol, const_cast<std::string_view*>(&protocols));
}

Sessions::Sessions() : quiet_socket_(BIO_meth_new(BIO_TYPE_SOCKET, "socket without SIGPIPE")) {
  const BIO_METHOD* const socket = BIO_s_socket();
  BIO_METHOD* const quiet = quiet_socket_.get();
  SLUICE_CHECK(quiet != nullptr);
  BIO_meth_set_write(quiet, send_quietly);
  BIO_meth_set_read(quiet, BIO_meth_get_read(socket));
  BIO_meth_set_ctrl(quiet, BIO_meth_get_ctrl(socket));
  BIO_meth_set_create(quiet, BIO_meth_get_create(socket));
  BIO_meth_set_destroy(quiet, BIO_meth_get_destroy(socket));
}

OpenSslPtr<SSL> Sessions::make(SSL_CTX* context, int fd) const {
  OpenSslPtr<SSL> session(SSL_new(context));
  BIO* const bio = BIO_new(quiet_socket_.get());
  SLUICE_CHECK(session != nullptr && bio != nullptr);
  BIO_set_fd(bio, fd, BIO_NOCLOSE);
  SSL_set_bio(session.get(), bio, bio);
  return session;
}

}  // namespace sluice::tls
