// One request from a sandbox and its response. Own file: it carries what connection.h has judged, and knows no policy.
// Used on the loop's thread only.
//
// Nothing is sent before all secrets are inserted into the head, and into the body if it fits a buffer. A longer body
// streams, and is cut off at an alias that may not go to this host. The response may begin before the body has ended.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/callback.h"
#include "egress/dial.h"
#include "egress/response_filter.h"
#include "egress/session.h"
#include "egress/stream.h"
#include "egress/substitution.h"
#include "egress/upstream_request.h"

namespace sluice::egress {

class Exchange final {
 public:
  enum class Fate : uint8_t {
    going,
    asks,     // waits for the secret missing_alias()
    kept,     // over; the sandbox's connection can take another request
    closing,  // over; the sandbox's connection is closed once all is sent
    broken,   // over; the sandbox must see that the connection broke
  };

  // `wake` is called from the loop when step() may get further. `client` outlives this.
  Exchange(Session& session, Stream& client, UpstreamRequest request, Callback<void()> wake);

  // Moves as many bytes as possible now.
  Fate step();
  const std::string& missing_alias() const { return missing_; }
  model::SecretPlace missing_place() const { return missing_place_; }
  // The missing secret may be there now.
  void look_again();
  void refuse(std::string_view words) { answer(403, words, Kept::from_leaving); }
  // No bytes moved for too long.
  void time_out();

  // The record so far.
  RequestRecord record() const;

 private:
  enum class Stage : uint8_t { head, collecting, waiting, dialing, dialed, talking, over };
  enum class Kept : uint8_t { from_leaving, no };

  void prepare_head();
  void collect();
  void connect();
  void on_dialed(Result<std::unique_ptr<Stream>> dialed);
  void begin_talking(std::unique_ptr<Stream> upstream);
  bool move_body();
  bool move_answer();
  void on_upstream_gone();
  void on_answered();
  void send_continue();
  // False if the body waits for a secret or was refused.
  bool take_body(std::size_t bytes_max);
  bool stopped_by(const Substitution& result);
  void answer(int status, std::string_view words, Kept kept);
  void end(Fate fate);

  Session& session_;
  Stream& client_;
  const UpstreamRequest request_;
  Callback<void()> wake_;
  Judge judge_;
  Stage stage_ = Stage::head;
  Fate fate_ = Fate::going;
  std::string missing_;
  model::SecretPlace missing_place_ = model::place_header;
  bool looked_ = false;  // for it again, after look_again()

  http::Headers fields_;  // with secrets inserted
  std::string query_;
  http::BodyReader reader_;
  BodySubstitution substitution_;
  std::string body_;  // not sent yet, with secrets inserted
  bool body_taken_ = false;
  http::BodyPlan sent_plan_;
  bool looks_through_ = false;
  bool may_grow_ = false;    // secrets may be inserted
  bool whole_only_ = false;  // a secret may go to this host, so no part of a response may be requested
  bool sent_continue_ = false;

  std::unique_ptr<Dial> dial_;
  std::unique_ptr<Stream> upstream_;
  bool from_pool_ = false;
  std::optional<ResponseFilter> response_;
  std::vector<std::string> aliases_;
  RequestRecord record_;
};

}  // namespace sluice::egress
