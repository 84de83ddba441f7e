// Mail between nodes: what this one is asked, and what it asks. Every letter is acted on once here, however often the
// store shows it, and its answer is written until the store has it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/callback.h"
#include "store/store.h"
#include "world/world.h"

namespace sluice::engine {

class Postbox final {
 public:
  class Host {
   public:
    // Empty: not now; the letter comes again.
    using Reply = Callback<void(std::optional<std::string>)>;
    virtual ~Host() = default;
    virtual void on_mail(const store::Mail& mail, Reply reply) = 0;
  };
  using Answered = Callback<void(Result<std::string>)>;

  Postbox(Host& host, store::Nodes& nodes, world::Loop& loop, world::IdSource& ids);
  ~Postbox();
  Postbox(const Postbox&) = delete;
  Postbox& operator=(const Postbox&) = delete;

  // `done` gets the answer; `overloaded` when it could not be sent, `unavailable` when none came in time.
  void ask(store::Mail mail, Millis patience, Answered done);
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

  void on_inbox(uint64_t look, const Result<std::vector<store::Mail>>& mails);
  void receive(const store::Mail& mail);
  void write_reply(model::MailId id);
  void look_for_answers();
  void settle(model::MailId id, Result<std::string> answer);

  template <typename F>
  auto while_alive(F then) {
    return [self = self_, then = std::move(then)](auto&&... args) mutable {
      if (*self != nullptr) then(std::forward<decltype(args)>(args)...);
    };
  }

  Host& host_;
  store::Nodes& nodes_;
  world::Loop& loop_;
  world::IdSource& ids_;
  std::map<model::MailId, Received> received_;
  std::map<model::MailId, Asked> asked_;
  uint64_t looks_ = 0;
  bool looking_ = false;
  bool looks_again_ = false;
  bool fetching_ = false;
  std::shared_ptr<Postbox*> self_;
};

}  // namespace sluice::engine
