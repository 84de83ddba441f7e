#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "net/transport.h"

namespace sluice::net {
namespace {

struct Free {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL* session) const { SSL_free(session); }
  void operator()(BIO_METHOD* method) const { BIO_meth_free(method); }
};

// OpenSSL's own socket BIO writes with write(2), which raises SIGPIPE when the peer has left.
int send_quietly(BIO* bio, const char* data, int size) {
  BIO_clear_retry_flags(bio);
  const ssize_t sent =
      ::send(static_cast<int>(BIO_get_fd(bio, nullptr)), data, static_cast<std::size_t>(size), MSG_NOSIGNAL);
  if (sent < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_write(bio);
  return static_cast<int>(sent);
}

std::unique_ptr<BIO_METHOD, Free> make_quiet_socket() {
  const BIO_METHOD* const socket = BIO_s_socket();
  std::unique_ptr<BIO_METHOD, Free> quiet(BIO_meth_new(BIO_TYPE_SOCKET, "socket without SIGPIPE"));
  SLUICE_CHECK(quiet != nullptr);
  BIO_meth_set_write(quiet.get(), send_quietly);
  BIO_meth_set_read(quiet.get(), BIO_meth_get_read(socket));
  BIO_meth_set_ctrl(quiet.get(), BIO_meth_get_ctrl(socket));
  BIO_meth_set_create(quiet.get(), BIO_meth_get_create(socket));
  BIO_meth_set_destroy(quiet.get(), BIO_meth_get_destroy(socket));
  return quiet;
}

class TlsTransport final : public Transport {
 public:
  TlsTransport(Fd fd, SSL_CTX* context, const BIO_METHOD* method) : fd_(std::move(fd)), session_(SSL_new(context)) {
    BIO* const bio = BIO_new(method);
    SLUICE_CHECK(session_ != nullptr && bio != nullptr);
    BIO_set_fd(bio, fd_.get(), BIO_NOCLOSE);
    SSL_set_bio(session_.get(), bio, bio);
    SSL_set_accept_state(session_.get());
  }

  int fd() const override { return fd_.get(); }

  IoOutcome handshake() override {
    ERR_clear_error();
    return outcome_of(SSL_do_handshake(session_.get()));
  }

  Protocol protocol() const override {
    const unsigned char* name = nullptr;
    unsigned size = 0;
    SSL_get0_alpn_selected(session_.get(), &name, &size);
    return size == 2 && std::memcmp(name, "h2", 2) == 0 ? Protocol::http_2 : Protocol::http_1;
  }

  Io receive(std::span<char> into) override {
    ERR_clear_error();
    std::size_t got = 0;
    const IoOutcome outcome = outcome_of(SSL_read_ex(session_.get(), into.data(), into.size(), &got));
    return {outcome, got};
  }

  // Gathers up to a record's worth, so that pieces of one turn share a record. A record that the
  // socket did not take must be offered again unchanged: the front of an outbox only ever grows.
  Io send(std::span<const iovec> from) override {
    char record[tls_record_bytes_max];
    std::size_t size = 0;
    for (const auto& [data, length] : from) {
      const std::size_t part = std::min(length, sizeof record - size);
      std::memcpy(record + size, data, part);
      size += part;
      if (size == sizeof record) break;
    }
    ERR_clear_error();
    std::size_t sent = 0;
    const IoOutcome outcome = outcome_of(SSL_write_ex(session_.get(), record, size, &sent));
    return {outcome, sent};
  }

  void end_sending() override {
    ERR_clear_error();
    SSL_shutdown(session_.get());
    shutdown(fd_.get(), SHUT_WR);
  }

 private:
  IoOutcome outcome_of(int returned) {
    if (returned > 0) return IoOutcome::done;
    switch (SSL_get_error(session_.get(), returned)) {
      case SSL_ERROR_WANT_READ: return IoOutcome::wants_read;
      case SSL_ERROR_WANT_WRITE: return IoOutcome::wants_write;
      case SSL_ERROR_ZERO_RETURN: return IoOutcome::closed;
      default: return IoOutcome::failed;
    }
  }

  Fd fd_;
  std::unique_ptr<SSL, Free> session_;
};

int choose_protocol(SSL*, const unsigned char** out, unsigned char* out_size, const unsigned char* offered,
                    unsigned int offered_size, void*) {
  static constexpr unsigned char spoken[] = "\x02h2\x08http/1.1";
  unsigned char* chosen = nullptr;
  if (SSL_select_next_proto(&chosen, out_size, spoken, sizeof spoken - 1, offered, offered_size) !=
      OPENSSL_NPN_NEGOTIATED) {
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  }
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

class OpenSslContext final : public TlsContext {
 public:
  explicit OpenSslContext(std::unique_ptr<SSL_CTX, Free> context)
      : context_(std::move(context)), quiet_socket_(make_quiet_socket()) {}

  std::unique_ptr<Transport> accept(Fd fd) const override {
    return std::make_unique<TlsTransport>(std::move(fd), context_.get(), quiet_socket_.get());
  }

 private:
  std::unique_ptr<SSL_CTX, Free> context_;
  std::unique_ptr<BIO_METHOD, Free> quiet_socket_;
};

Error tls_error(std::string what) {
  char reason[200] = "unknown reason";
  if (const auto code = ERR_peek_last_error(); code != 0) ERR_error_string_n(code, reason, sizeof reason);
  ERR_clear_error();
  return {ErrorKind::invalid, std::move(what) + ": " + reason};
}

}  // namespace

Result<std::unique_ptr<TlsContext>> make_tls_context(const std::string& certificate_file, const std::string& key_file) {
  ERR_clear_error();
  std::unique_ptr<SSL_CTX, Free> context(SSL_CTX_new(TLS_server_method()));
  if (!context) return tls_error("TLS cannot be set up");
  SSL_CTX* const c = context.get();
  SSL_CTX_set_min_proto_version(c, TLS1_2_VERSION);
  // Of TLS 1.2: what is secret today must stay so when the certificate's key is stolen tomorrow.
  if (SSL_CTX_set_cipher_list(c, "ECDHE+AESGCM:ECDHE+CHACHA20") != 1) return tls_error("TLS has no good cipher");
  SSL_CTX_set_options(c, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE |
                             SSL_OP_IGNORE_UNEXPECTED_EOF);
  SSL_CTX_set_mode(c, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_session_cache_mode(c, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(c, 1);
  SSL_CTX_set_alpn_select_cb(c, choose_protocol, nullptr);
  if (SSL_CTX_use_certificate_chain_file(c, certificate_file.c_str()) != 1) {
    return tls_error("the TLS certificate " + certificate_file + " cannot be used");
  }
  if (SSL_CTX_use_PrivateKey_file(c, key_file.c_str(), SSL_FILETYPE_PEM) != 1) {
    return tls_error("the TLS key " + key_file + " cannot be used");
  }
  if (SSL_CTX_check_private_key(c) != 1) {
    return tls_error("the TLS key " + key_file + " does not belong to the certificate " + certificate_file);
  }
  return std::unique_ptr<TlsContext>(std::make_unique<OpenSslContext>(std::move(context)));
}

}  // namespace sluice::net
