// What the connections of one server share.
#pragma once

#include <array>

#include "net/callers.h"
#include "net/connection.h"
#include "net/http_head.h"
#include "net/incoming_body.h"
#include "net/incoming_head.h"
#include "net/net.h"
#include "net/transport.h"

namespace sluice::net {

// A connection of which it is known what is spoken on it.
struct Greeted {
  Protocol protocol = Protocol::unsaid;
  std::unique_ptr<Transport> transport;
  Caller caller;
  std::string received;  // already read
  int64_t due_us = 0;    // the first request must have come by then
};

struct ServerFigures {
  explicit ServerFigures(world::Metrics& metrics)
      : connections(metrics.gauge("sluice_http_connections_open", "Connections open now.")),
        requests(metrics.counter("sluice_http_requests_total", "Requests handed to a handler.")),
        refused(metrics.counter("sluice_http_refused_total", "Requests and connections refused before any handler.")),
        sent_bytes(metrics.counter("sluice_http_sent_bytes_total", "Bytes of answers taken by the kernel.")),
        given_up(metrics.counter("sluice_http_unread_closed_total",
                                 "Connections closed because too many answers wait to be read on all of them.")) {}

  world::Gauge& connections;
  world::Counter& requests;
  world::Counter& refused;
  world::Counter& sent_bytes;
  world::Counter& given_up;
};

struct ServerContext {
  world::Reactor& reactor;
  ServerOptions options;
  Handler handler;
  Refusal refusal;
  ServerFigures figures;
  Callback<void(Connection&)> closed;            // a connection ended
  Callback<void(Connection&, Greeted)> greeted;  // and this connection continues as another one
  Callback<void()> overfull;                     // more answers are unread than all connections may have

  RequestLimits limits = {.body_bytes_max = options.request_body_bytes_max,
                          .body_bytes_max_of = options.body_bytes_max_of};
  bool draining = false;
  BodyRoom bodies = {.spool_dir = options.spool_dir,
                     .memory_bytes_max = options.bodies_in_flight_bytes_max,
                     .spooled_bytes_max = options.spooled_bytes_max,
                     .strangers_bytes_max = options.strangers_bytes_max,
                     .strangers_bytes_per_address_max = options.strangers_bytes_per_address_max,
                     .knows_everybody = !options.doorkeeper};
  Origins origins;
  std::size_t unread_bytes = 0;  // of answers, of all connections
  // A connection says how much of its answers is unread now, and keeps what was counted.
  void count_unread(const Connection& connection, std::size_t& counted, std::size_t bytes) {
    if (counted == bytes) return;
    unread_bytes += bytes - counted;
    connection.caller().origin()->unread_bytes += bytes - counted;
    if (const auto& account = connection.caller().account()) account->unread_bytes += bytes - counted;
    counted = bytes;
    if (unread_bytes > options.unread_answers_bytes_in_all_max) overfull();
  }
  DateLine date;
  std::string head;                              // scratch: a head being written
  std::array<char, tls_record_bytes_max> input;  // scratch: bytes just received, so that quiet connections own none
};

}  // namespace sluice::net
