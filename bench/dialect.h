// How each contender is spoken to: what creates a conversation, what sends a message, and what its lines mean. The
// measuring is the same for all.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/link.h"

namespace sluice::bench {

// Where the events of a message come from.
enum class Feed : uint8_t {
  answer,  // in the answer to the message
  own,     // on a second connection for each conversation
  shared,  // on one connection for the whole client, each line naming its conversation
};

enum class Line : uint8_t { other, event, delta, last };

class Dialect {
 public:
  virtual ~Dialect() = default;
  virtual Feed feed() const { return Feed::answer; }
  // Requests that make conversation number `index`, one after another. The answer to the last one holds its id behind
  // id_mark().
  virtual std::vector<Request> creation(int index) const = 0;
  virtual std::string_view id_mark() const = 0;
  virtual Request message(int index, const std::string& id, long turn, const std::string& content) const = 0;
  virtual Request listening(int /*index*/) const { return {}; }
  virtual Line read(std::string_view line) const = 0;
  // Whether a line tells the end; if not, a complete answer with deltas is it.
  virtual bool tells_end() const { return true; }
  // The conversation a line of a shared feed belongs to.
  virtual std::string_view conversation_of(std::string_view /*line*/) const { return {}; }
};

// sluice, langgraph, opencode or acp; null for any other name.
std::unique_ptr<Dialect> make_dialect(std::string_view name);

}  // namespace sluice::bench
