// One HTTP/1.1 connection of the load client to a server on the loopback: one request at a time, edge-triggered.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "bench/http_reader.h"

namespace sluice::bench {

struct Request {
  std::string method;
  std::string path;
  std::string body;
};

class LinkListener {
 public:
  virtual ~LinkListener() = default;
  virtual void on_connected() = 0;
  virtual void on_body(int status, std::string_view piece) = 0;
  virtual void on_answered(int status) = 0;
  virtual void on_broken(const std::string& why) = 0;
};

class Link final {
 public:
  Link(const std::string& key, LinkListener& listener) : key_(key), listener_(listener) {}
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  ~Link() { close(); }

  void open(int epoll, int port);  // epoll's events carry this link
  void send(const Request& request);
  void ready(uint32_t events);
  void close();

 private:
  void flush();
  void receive();

  const std::string& key_;
  LinkListener& listener_;
  int fd_ = -1;
  bool connected_ = false;
  std::string out_;
  HttpReader reader_;
};

}  // namespace sluice::bench
