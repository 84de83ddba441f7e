#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "net/transport.h"
#include "tls/tls.h"

namespace sluice::net {
namespace {

constexpr std::string_view spoken("\x02h2\x08http/1.1");

class TlsTransport final : public Transport {
 public:
  TlsTransport(OwnedFd fd, SSL_CTX* context, const tls::Sessions& sessions)
      : fd_(std::move(fd)), session_(sessions.make(context, fd_.get())) {
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

  OwnedFd fd_;
  tls::OpenSslPtr<SSL> session_;
};

class OpenSslContext final : public TlsContext {
 public:
  explicit OpenSslContext(tls::OpenSslPtr<SSL_CTX> context) : context_(std::move(context)) {}

  std::unique_ptr<Transport> accept(OwnedFd fd) const override {
    return std::make_unique<TlsTransport>(std::move(fd), context_.get(), sessions_);
  }

 private:
  tls::OpenSslPtr<SSL_CTX> context_;
  tls::Sessions sessions_;
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
  tls::OpenSslPtr<SSL_CTX> context(SSL_CTX_new(TLS_server_method()));
  if (!context) return tls_error("TLS cannot be set up");
  SSL_CTX* const c = context.get();
  tls::set_rules(c);
  // Of TLS 1.2: what is secret today must stay so when the certificate's key is stolen tomorrow.
  if (SSL_CTX_set_cipher_list(c, "ECDHE+AESGCM:ECDHE+CHACHA20") != 1) return tls_error("TLS has no good cipher");
  SSL_CTX_set_options(c, SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_mode(c, SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_num_tickets(c, 1);
  tls::choose_among(c, spoken);
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
