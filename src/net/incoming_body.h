// A request body while it comes: in memory as long as it is small, then in a file without a name, which
// is gone however the request ends. All bodies of a server share two bounds, one for each place.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/limits.h"
#include "net/body.h"

namespace sluice::net {

// Why the server itself answers, and what.
struct Refused {
  int status;
  std::string detail;
};

// What the bodies of one server have, and may have.
struct BodyRoom {
  std::string spool_dir;  // empty: all stay in memory
  std::size_t memory_bytes_max = limits::bodies_in_flight_bytes_max;
  std::size_t spooled_bytes_max = limits::spooled_bytes_max;
  std::size_t memory_bytes = 0;  // of bodies that are not complete
  // Until the last holder of a body lets go of it, which may be another thread, after the server.
  std::shared_ptr<std::atomic<std::size_t>> spooled_bytes = std::make_shared<std::atomic<std::size_t>>(0);
};

class IncomingBody final {
 public:
  // `room` must outlive the body, or at least what is in it: drop() may come before.
  explicit IncomingBody(BodyRoom& room) : room_(room) {}
  IncomingBody(const IncomingBody&) = delete;
  IncomingBody& operator=(const IncomingBody&) = delete;
  ~IncomingBody() { drop(); }

  // A claim of what will come. Only a little is believed.
  void expect(std::size_t bytes);
  // A refusal leaves the body empty.
  [[nodiscard]] std::optional<Refused> append(std::string_view bytes);
  // Gives the body away; this one is then empty and may begin anew.
  [[nodiscard]] std::optional<Refused> finish(Body& into);
  void drop();

  std::size_t size() const;

 private:
  class File;

  std::optional<Refused> keep(std::string_view bytes);
  std::optional<Refused> spool(std::string_view bytes);
  std::optional<Refused> begin_spooling();
  Refused give_up(std::string detail);
  Refused give_up_for(int reason);

  BodyRoom& room_;
  std::string text_;
  std::shared_ptr<File> file_;  // shared with the Body it becomes
};

}  // namespace sluice::net
