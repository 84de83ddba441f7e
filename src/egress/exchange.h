// One request from a box and the answer to it, both on their way through.
//
// Nothing is sent before the whole head, and a body that fits a buffer, have their secrets; a longer
// body streams and is cut off where an alias in it must not go. The answer may begin before the body
// has ended.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/callback.h"
#include "egress/arrival.h"
#include "egress/dial.h"
#include "egress/errand.h"
#include "egress/premises.h"
#include "egress/stream.h"
#include "egress/substitution.h"

namespace sluice::egress {

class Exchange final {
 public:
  enum class Fate : uint8_t {
    going,
    asks,     // for missing_alias()
    kept,     // over; the box's connection can take another request
    closing,  // over; the box's connection ends once all is sent
    broken,   // over, and the box must see that it broke
  };

  // `wake` is called from the loop when step() may get further. `client` outlives this.
  Exchange(Premises& premises, Stream& client, Errand errand, Callback<void()> wake);

  // As far as it goes now.
  Fate step();
  const std::string& missing_alias() const { return missing_; }
  model::SecretPlace missing_place() const { return missing_place_; }
  // The answer to that question.
  void look_again();
  void refuse(std::string_view words) { answer(403, words, Kept::from_leaving); }
  // Nothing moved for too long.
  void time_out();

  // What is to be told of it so far.
  Passage passage() const;

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
  void welcome_body();
  // False: it waits or is refused.
  bool take_body(std::size_t bytes_max);
  bool stopped_by(const Substitution& result);
  void answer(int status, std::string_view words, Kept kept);
  void end(Fate fate);

  Premises& premises_;
  Stream& client_;
  const Errand errand_;
  Callback<void()> wake_;
  Judge judge_;
  Stage stage_ = Stage::head;
  Fate fate_ = Fate::going;
  std::string missing_;
  model::SecretPlace missing_place_ = model::place_header;
  bool looked_ = false;  // for it, after the answer

  http::Headers fields_;  // with their secrets
  std::string query_;
  http::BodyReader reader_;
  BodySubstitution substitution_;
  std::string body_;  // on its way, with its secrets
  bool body_taken_ = false;
  http::BodyPlan sent_plan_;
  bool looks_through_ = false;
  bool may_grow_ = false;    // secrets may be put in
  bool whole_only_ = false;  // a secret may go to this host: no part of an answer of its may be asked for
  bool welcomed_body_ = false;

  std::unique_ptr<Dial> dial_;
  std::unique_ptr<Stream> upstream_;
  bool from_pool_ = false;
  std::optional<Arrival> arrival_;
  std::vector<std::string> aliases_;
  Passage passage_;
};

}  // namespace sluice::egress
