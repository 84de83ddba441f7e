// The server as a command sees it: ask and wait. What waits underneath is a loop of its own.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/arguments.h"
#include "cli/cli.h"
#include "client/client.h"

namespace sluice::cli {

// Where the server is and with which keys: from flags, then the environment, then the bootstrap.json of a server on
// this machine.
struct Access {
  std::string url;
  std::string key;
  std::string admin_key;
  std::string tenant_id;  // of bootstrap.json; empty if there is none
  std::string ca_file;
  std::string data_dir;
  std::string approver_file;  // bootstrap.json, if it has an approver key for this server
};

// `invalid` when bootstrap.json was asked for by --data and cannot be read.
Result<Access> find_access(const Arguments& arguments, const Environment& environment);

enum class As : uint8_t { service, admin, none };  // none: no request is sent

struct Followed {
  client::Outcome outcome;
  bool interrupted = false;  // Ctrl-C: we left, the run goes on
  bool left = false;         // the listener wanted to; follow again from there
};

class AnswerListener {
 public:
  virtual ~AnswerListener() = default;
  virtual void on_event(const client::Event& event) = 0;
  // A connection that stays broken for some seconds, and its return.
  virtual void on_link(client::Link link) = 0;
  // Asked after each batch of events: whether to stop here, so that the command can do something else first.
  virtual bool wants_to_leave() const { return false; }
};

class Remote {
 public:
  virtual ~Remote() = default;
  virtual Result<client::Reply> request(As as, std::string method, std::string path, std::string body) = 0;
  // Tells the bytes of the answer as they come, for as long as they do; the reply has none of them. A
  // refusal is only in the reply. `unavailable` also if the answer broke off.
  virtual Result<client::Reply> stream(std::string method, std::string path, std::string body,
                                       std::function<void(std::string_view)> on_bytes) = 0;
  // With an Idempotency-Key of its own, so that a cut before the first byte is a replay, not a riddle.
  virtual Followed send_message(std::string conversation_id, std::string body, AnswerListener& listener) = 0;
  virtual Followed follow(std::string message_id, int64_t after, AnswerListener& listener) = 0;
};

Result<std::unique_ptr<Remote>> make_remote(const Access& access);

}  // namespace sluice::cli
