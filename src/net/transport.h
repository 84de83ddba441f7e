// A connected socket that carries bytes, in the clear or under TLS. Never blocks.
#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace sluice::net {

inline constexpr std::size_t tls_record_bytes_max = 16 * 1024;

// What is spoken on top. Unsaid: the first bytes tell.
enum class Protocol : uint8_t { unsaid, http_1, http_2 };

enum class IoOutcome : uint8_t { done, wants_read, wants_write, closed, failed };

struct Io {
  IoOutcome outcome = IoOutcome::failed;
  std::size_t bytes = 0;  // when done
};

class Transport {
 public:
  virtual ~Transport() = default;

  virtual int fd() const = 0;
  // To be called until done, before anything is sent or received.
  virtual IoOutcome handshake() = 0;
  // As the handshake settled it.
  virtual Protocol protocol() const = 0;
  // `into` must hold a whole TLS record, so that nothing stays behind where the kernel cannot see it.
  virtual Io receive(std::span<char> into) = 0;
  virtual Io send(std::span<const iovec> from) = 0;
  // Tells the peer that nothing more comes; what it says can still be received.
  virtual void end_sending() = 0;
};

std::unique_ptr<Transport> make_plain_transport(OwnedFd fd);

// What the TLS connections of one server share: certificate, key and policy.
class TlsContext {
 public:
  virtual ~TlsContext() = default;
  virtual std::unique_ptr<Transport> accept(OwnedFd fd) const = 0;
};

// The files are PEM: a chain that begins with the server's certificate, and its key.
Result<std::unique_ptr<TlsContext>> make_tls_context(const std::string& certificate_file, const std::string& key_file);

}  // namespace sluice::net
