// A request body while it comes: in memory as long as it is small, then in a file without a name, which
// is gone however the request ends. All bodies of a server share bounds: one for what is on disk, one for what senders
// with a key have in memory, and one for what everybody else has there.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/limits.h"
#include "base/stranger_limits.h"
#include "net/body.h"
#include "net/callers.h"

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
  std::size_t memory_bytes = 0;  // of requests that are not complete, of senders who have shown a key
  // The same of all others, and of those that come from one address.
  std::size_t strangers_bytes_max = limits::strangers_bytes_max;
  std::size_t strangers_bytes_per_address_max = limits::strangers_bytes_per_address_max;
  std::size_t strangers_bytes = 0;
  // Nobody looks at keys: there are no strangers.
  bool knows_everybody = false;

  // So much of it is taken that a sender had better show a key before anything else.
  bool is_crowded(const Origin& origin) const;
  // Until the last holder of a body lets go of it, which may be another thread, after the server.
  std::shared_ptr<std::atomic<std::size_t>> spooled_bytes = std::make_shared<std::atomic<std::size_t>>(0);
};

class IncomingBody final {
 public:
  // `room` must outlive the body, or at least what is in it: drop() may come before. No `origin`: an address of which
  // nothing else comes.
  explicit IncomingBody(BodyRoom& room, std::shared_ptr<Origin> origin = nullptr)
      : room_(room),
        origin_(origin ? std::move(origin) : std::make_shared<Origin>()),
        is_known_(room.knows_everybody) {}
  IncomingBody(const IncomingBody&) = delete;
  IncomingBody& operator=(const IncomingBody&) = delete;
  ~IncomingBody() { drop(); }

  // A claim of what will come. Only a little is believed.
  void expect(std::size_t bytes);
  // The head of the request stays in memory for as long as the body is awaited, and counts like the body.
  [[nodiscard]] std::optional<Refused> hold_head(std::size_t bytes);
  // Its sender has shown a key.
  [[nodiscard]] std::optional<Refused> admit();
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
  std::optional<Refused> hold(std::size_t bytes);
  void release(std::size_t bytes);
  Refused give_up(std::string detail);
  Refused give_up_for(int reason);

  BodyRoom& room_;
  const std::shared_ptr<Origin> origin_;
  std::string text_;
  std::size_t held_bytes_ = 0;  // counted: the text, and the head
  bool is_known_;
  std::shared_ptr<File> file_;  // shared with the Body it becomes
};

}  // namespace sluice::net
