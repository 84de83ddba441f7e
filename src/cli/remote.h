// The server as a command sees it: ask and wait. What waits underneath is a loop of its own.
#pragma once

#include <memory>
#include <string>

#include "cli/access.h"
#include "client/client.h"

namespace sluice::cli {

enum class As : uint8_t { service, admin };

struct Followed {
  client::Outcome outcome;
  bool interrupted = false;  // Ctrl-C: we left, the run goes on
};

class AnswerListener {
 public:
  virtual ~AnswerListener() = default;
  virtual void on_event(const client::Event& event) = 0;
  // A connection that stays broken for some seconds, and its return.
  virtual void on_link(client::Link link) = 0;
};

class Remote {
 public:
  virtual ~Remote() = default;
  virtual Result<client::Reply> request(As as, std::string method, std::string path, std::string body) = 0;
  // With an Idempotency-Key of its own, so that a cut before the first byte is a replay, not a riddle.
  virtual Followed send_message(std::string conversation_id, std::string body, AnswerListener& listener) = 0;
  virtual Followed follow(std::string message_id, int64_t after, AnswerListener& listener) = 0;
};

Result<std::unique_ptr<Remote>> make_remote(const Access& access);

}  // namespace sluice::cli
