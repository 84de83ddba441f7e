// The other end of a connection: its address, what all connections from there have in common, and whether it has shown
// a key. One address must not take what all share. Pure: no socket, no clock.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "net/answer_account.h"

namespace sluice::net {

// An address from which clients come. Behind a proxy all of them have one.
struct Origin {
  std::size_t strangers = 0;       // connections that have shown no key
  std::size_t incoming_bytes = 0;  // of requests that are not complete, of senders without a key
  std::size_t unread_bytes = 0;    // of answers that wait to be read
};

// Knows an origin for as long as there is a connection from it.
class Origins final {
 public:
  // `address` as IPv4 or IPv6 spell it. Of IPv6, a network of 64 bits is one origin, because a client with one address
  // of it usually has all of them.
  std::shared_ptr<Origin> of(std::string_view address);
  std::size_t count() const { return known_->size(); }

 private:
  using Known = std::unordered_map<std::string, std::weak_ptr<Origin>>;
  std::shared_ptr<Known> known_ = std::make_shared<Known>();  // a connection may outlive the server for a turn
};

class Caller final {
 public:
  Caller(std::string address, std::shared_ptr<Origin> origin)
      : address_(std::move(address)), origin_(std::move(origin)) {
    ++origin_->strangers;
  }
  Caller(Caller&& other) noexcept = default;
  Caller& operator=(Caller&&) = delete;
  ~Caller() { leave(); }

  const std::string& address() const { return address_; }
  const std::shared_ptr<Origin>& origin() const { return origin_; }
  bool is_known() const { return is_known_; }
  // The caller has shown a valid key.
  void show_key() {
    leave();
    is_known_ = true;
  }
  // Whose answers leave on the connection; null: a stranger's, or an operator's.
  const std::shared_ptr<AnswerAccount>& account() const { return account_; }
  // `unread_bytes`: what waits on the connection now.
  void charge(std::shared_ptr<AnswerAccount> account, std::size_t unread_bytes) {
    if (account_ == account) return;
    if (account_) account_->unread_bytes -= unread_bytes;
    account_ = std::move(account);
    if (account_) account_->unread_bytes += unread_bytes;
  }
  // The connection has ended, or its client has shown a key: it no longer counts as one without a key.
  void leave() {
    if (origin_ && !std::exchange(has_left_, true)) --origin_->strangers;
  }

 private:
  std::string address_;
  std::shared_ptr<Origin> origin_;  // null: moved from
  std::shared_ptr<AnswerAccount> account_;
  bool is_known_ = false;
  bool has_left_ = false;
};

}  // namespace sluice::net
