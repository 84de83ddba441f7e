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
  // Without key checks, every request counts as one with a key.
  bool knows_everybody = false;

  // Half of it is taken. Further senders show a key before anything else; the other half is for requests whose keys are
  // being looked at. Where no key is asked for, requests are refused.
  bool is_crowded(const Origin& origin) const;
  // Until the last holder of a body lets go of it, which may be another thread, after the server.
  std::shared_ptr<std::atomic<std::size_t>> spooled_bytes = std::make_shared<std::atomic<std::size_t>>(0);
};

// Whether the key of a sender is looked at before the body is there.
enum class Judged : uint8_t { no, now };

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
  // The body is awaited. The head stays in memory as long, and counts like the body; what came with the head counts
  // from now on. `coming`: as much more is counted at once, so that a request which was let in is not refused later
  // because others fill the room.
  [[nodiscard]] std::optional<Refused> hold_head(std::size_t bytes, std::size_t coming, Judged judged);
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

  bool counts() const { return is_known_ || is_awaited_; }
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
  std::size_t head_bytes_ = 0;  // of the awaited request
  std::size_t held_bytes_ = 0;  // counted: the text, the head, and what will come
  bool is_known_;
  bool is_awaited_ = false;     // a stranger's request counts from then on; one that came in one piece does not
  std::shared_ptr<File> file_;  // shared with the Body it becomes
};

}  // namespace sluice::net
