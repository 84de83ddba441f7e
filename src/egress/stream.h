// One connection, in the clear or under TLS, with a bounded buffer on either side. Never blocks.
//
// Its owner reads what came and writes what is to go, then calls settle(). The loop calls the owner when there is more
// to do.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/callback.h"
#include "base/fd.h"
#include "base/lifetime.h"
#include "egress/tls.h"
#include "world/world.h"

namespace sluice::egress {

inline constexpr std::size_t buffer_bytes_max = 256 * 1024;  // of each side; beyond it the sender must wait

// Bytes in at the back and out at the front.
class ByteQueue {
 public:
  std::string_view view() const { return std::string_view(bytes_).substr(front_); }
  std::size_t size() const { return bytes_.size() - front_; }
  // Where to append.
  std::string& back() { return bytes_; }
  void consume(std::size_t count);
  void clear() { consume(size()); }
  // Gives back the memory that a long stream needed.
  void rest();

 private:
  std::string bytes_;
  std::size_t front_ = 0;
};

class Stream final {
 public:
  enum class State : uint8_t { connecting, handshaking, open, broken };

  // `fd` is a socket that does not block; `state` connecting or open.
  Stream(world::Reactor& reactor, OwnedFd fd, State state);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // Called from the loop when there may be something new; may drop this.
  void on_change(Callback<void()> changed) { on_change_ = std::move(changed); }
  // From here on under TLS: a handshake, then open (or broken).
  void secure(OpenSslPtr<SSL> session);

  int fd() const { return fd_.get(); }
  State state() const { return state_; }
  const std::string& fault() const { return fault_; }  // of a broken one

  std::string_view input() const { return in_.view(); }
  void consume(std::size_t count) { in_.consume(count); }
  bool ended() const { return ended_; }  // the peer sends no more than input()

  void write(std::string_view bytes) { out_.back().append(bytes); }
  std::string& outgoing() { return out_.back(); }  // what is appended here is written
  std::size_t unsent() const { return out_.size(); }
  std::size_t room() const { return unsent() < buffer_bytes_max ? buffer_bytes_max - unsent() : 0; }
  // Once all is sent, the peer sees the end of the stream.
  void end_writing() { ends_ = true; }
  bool finished() const { return finished_; }  // and it was
  // Nothing happens for a while.
  void rest();
  // When this goes the peer sees a connection that broke, not one that ended.
  void break_off();

  // Sends what can be sent, and asks the kernel to say when more can be done. True: something left, so that there is
  // room for more; no call from the loop will report it.
  [[nodiscard]] bool settle();

 private:
  void on_ready(world::Ready ready);
  void finish_connecting();
  void shake_hands();
  void read_some();
  bool read_once();
  void flush();
  void flush_once(bool& goes_on);
  void finish_writing();
  void arrange();
  void breaks(std::string fault);
  bool wants_input() const;
  // True: try again later.
  bool waits(int returned, std::string_view doing);

  world::Reactor& reactor_;
  OwnedFd fd_;
  OpenSslPtr<SSL> session_;
  State state_;
  std::string fault_;
  ByteQueue in_;
  ByteQueue out_;
  bool ended_ = false;
  bool ends_ = false;
  bool finished_ = false;
  bool hung_up_ = false;     // the kernel would say so again and again
  bool tls_writes_ = false;  // TLS has something of its own to send
  Callback<void()> on_change_;
  std::unique_ptr<world::Watch> watch_;
  world::Timer again_;  // for bytes that the kernel does not know of
  Lifetime lifetime_;
};

}  // namespace sluice::egress
