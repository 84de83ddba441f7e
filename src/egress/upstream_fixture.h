// For tests: a server on threads of its own that says what the test tells it to.
#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "egress/wire_fixture.h"

namespace sluice::egress {

// A server that does for each connection what the script says, on threads of its own.
class Upstream final {
 public:
  using Script = std::function<void(Peer&)>;
  // `context` null: in the clear.
  explicit Upstream(Script script, SSL_CTX* context = nullptr) : script_(std::move(script)), context_(context) {
    listener_ = listen_on_loopback(port_);
    thread_ = std::thread([this] { accept_all(); });
  }
  ~Upstream() {
    shutdown(listener_.get(), SHUT_RDWR);  // wakes accept()
    thread_.join();
    {
      const std::lock_guard lock(mutex_);
      for (Peer& peer : peers_) peer.wake();
    }
    for (auto& thread : talks_) thread.join();
  }
  uint16_t port() const { return port_; }
  int connections() const { return connections_; }

 private:
  void accept_all() {
    for (;;) {
      OwnedFd fd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!fd) return;
      ++connections_;
      const std::lock_guard lock(mutex_);
      Peer& peer = peers_.emplace_back(std::move(fd));
      talks_.emplace_back([this, &peer] { talk(peer); });
    }
  }
  void talk(Peer& peer) {
    if (context_ == nullptr || peer.accept_hands(context_)) script_(peer);
    const std::lock_guard lock(mutex_);
    peer.hang_up();
  }

  Script script_;
  SSL_CTX* context_;
  uint16_t port_ = 0;
  OwnedFd listener_;
  std::thread thread_;
  std::mutex mutex_;  // guards the peers against their end
  std::list<Peer> peers_;
  std::list<std::thread> talks_;
  std::atomic<int> connections_ = 0;
};

// What an upstream heard, for the test's thread to look at.
class Ledger final {
 public:
  void add(Heard heard) {
    const std::lock_guard lock(mutex_);
    heard_.push_back(std::move(heard));
  }
  std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return heard_.size();
  }
  Heard at(std::size_t index) const {
    const std::lock_guard lock(mutex_);
    return index < heard_.size() ? heard_[index] : Heard{};
  }
  // A script that writes down every request and gives each the same answer.
  Upstream::Script answering(std::string answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") {
    return [this, answer = std::move(answer)](Peer& peer) {
      for (;;) {
        Heard heard = peer.hear_request();
        if (heard.request.method.empty()) return;
        add(std::move(heard));
        if (!peer.say(answer)) return;
      }
    };
  }

 private:
  mutable std::mutex mutex_;
  std::vector<Heard> heard_;
};

// Answers every request with what it heard: its first line, its fields and its body.
inline void echo(Peer& peer) {
  for (;;) {
    const Heard heard = peer.hear_request();
    if (heard.request.method.empty()) return;
    std::string body = heard.request.method + " " + heard.request.target + "\n";
    for (const auto& field : heard.request.headers.all()) body += field.name + ": " + field.value + "\n";
    body += "\n" + heard.body;
    if (!peer.say("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
                  (heard.request.method == "HEAD" ? "" : body))) {
      return;
    }
  }
}

}  // namespace sluice::egress
