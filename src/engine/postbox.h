// Mail between nodes that share the store: requests of this node, and answers to those of others. Every letter is acted
// on once here, however often the store shows it, and its answer is written until the store has it.
//
// Called from the loop's thread. It knows nothing of what the letters say; a handler answers those of its kind.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/callback.h"
#include "base/lifetime.h"
#include "journal/journal.h"
#include "world/world.h"

namespace sluice::engine {

class Postbox final {
 public:
  // Empty: not now; the letter comes again.
  using Reply = Callback<void(std::optional<std::string>)>;
  using Handler = Callback<void(const journal::Mail& mail, Reply reply)>;
  using Answered = Callback<void(Result<std::string>)>;

  Postbox(journal::Nodes& nodes, world::Loop& loop, world::IdSource& ids) : nodes_(nodes), loop_(loop), ids_(ids) {}
  Postbox(const Postbox&) = delete;
  Postbox& operator=(const Postbox&) = delete;

  // Letters of this kind are answered by `handler`, the last one that was given.
  void answer(std::string_view kind, Handler handler) {
    handlers_.insert_or_assign(std::string(kind), std::move(handler));
  }
  // `done` gets the answer; `overloaded` when it could not be sent, `unavailable` when none came in time.
  void ask(journal::Mail mail, Millis patience, Answered done);
  // Something may have come.
  void look();

 private:
  struct Received {
    std::optional<std::string> reply;  // once it has been acted on
    bool writing = false;
    std::optional<uint64_t> settled_at;  // the look after which it can be forgotten
  };
  struct Asked {
    Answered done;
    world::Timer patience;
  };

  void on_inbox(uint64_t look, const Result<std::vector<journal::Mail>>& mails);
  void receive(const journal::Mail& mail);
  void handle(const journal::Mail& mail, Reply reply);
  void write_reply(model::MailId id);
  void look_for_answers();
  void settle(model::MailId id, Result<std::string> answer);

  journal::Nodes& nodes_;
  world::Loop& loop_;
  world::IdSource& ids_;
  std::unordered_map<std::string, Handler> handlers_;
  std::map<model::MailId, Received> received_;
  std::map<model::MailId, Asked> asked_;
  uint64_t looks_ = 0;
  bool looking_ = false;
  bool looks_again_ = false;
  bool fetching_ = false;
  Lifetime lifetime_;
};

}  // namespace sluice::engine
