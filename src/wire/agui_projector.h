// Turns a run's events into AG-UI's, segment after segment, and keeps what they amount to as messages. A segment ends
// with the run or with its wait for a human, which is an end for an AG-UI client too. What an agent program reports out
// of order is put in order here, so that the rules (agui_rules.h) find no fault.
//
// Used by one fold, on its thread. It has no say in which events there are, and no socket, clock or store.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "journal/journal.h"
#include "model/event_codec.h"
#include "model/model.h"
#include "wire/agui_messages.h"

namespace sluice::wire {

class AguiProjector {
 public:
  AguiProjector(const View& view, const model::Run& run);

  void apply(const journal::Committed& news, std::string& out);

  int64_t count() const { return segment_ == view_.segment ? frames().count() : 0; }
  // The segment that is asked for is over, or will never be.
  bool is_over() const { return is_run_over_ || (segment_ == view_.segment && frames().is_over()); }
  int64_t violations() const { return frames().violations(); }
  const AguiTranscript& transcript() const { return calls_.voices().transcript(); }
  // How many messages the transcript had when the present segment began.
  int64_t count_before_segment() const { return count_before_segment_; }
  // What waits for an answer now, as JSON objects with commas between them; empty when nothing does.
  const std::string& interrupts() const { return interrupts_; }
  // As the client sent it; empty when no client did.
  const std::string& user_message() const { return user_message_; }
  std::string_view earlier_messages() const { return std::string_view(client_messages_).substr(0, earlier_bytes_); }

 private:
  using Ending = AguiVoices::Ending;
  // The tokens of the present segment: those of the run without those of the segments before.
  class Usage {
   public:
    void begin_segment() { input_before_ = input_, output_before_ = output_; }
    // Of the run so far.
    void set(int64_t input_tokens, int64_t output_tokens);
    void set_model(std::string model) { model_ = std::move(model); }
    const std::string& model() const { return model_; }
    // As a member of an object; nothing where nothing is known.
    void append(json::Writer& writer) const;

   private:
    int64_t input_ = 0, output_ = 0;
    int64_t input_before_ = 0, output_before_ = 0;
    std::string model_;
  };

  AguiVoices& voices() { return calls_.voices(); }
  AguiWriter& frames() { return calls_.voices().writer(); }
  const AguiWriter& frames() const { return calls_.voices().writer(); }

  // ── segments ──
  void take_names(const model::events::Accepted& accepted);
  void begin_segment();
  // While the run waits for a human. Whether `news` ends the run, which the segment that begins then has to show.
  bool wakes_to_end(const journal::Committed& news);
  // Steps that came during the wait.
  void write_late_steps(bool is_end);
  void write_conversation();

  // ── what happens ──
  void show(const journal::Committed& news);
  void say(std::string_view text);
  void show_log(const model::events::Log& log, const std::string& body);
  void show_output(const model::events::Output& output);
  void show_diff(const model::events::Diff& event);
  void show_custom(const model::events::Custom& event);
  void show_queued(const model::events::Queued& queued);
  void show_subagent(const model::events::Subagent& event);
  void show_subagent_text(const model::events::SubagentText& event);
  void take_back(const model::events::Replaced& replaced);

  // ── ends ──
  void end_subagent(const std::string& id, Ending ending, std::string_view error);
  void close_everything(Ending ending);
  void park(const model::events::Gate& gate);
  void leave_to_client(const std::vector<model::RequestedItem>& items);
  void complete(const model::events::Completed& completed);
  void fail_run(const model::events::Failed& failed);
  void cancel_run(const model::events::Cancelled& cancelled);
  void fail(std::string_view code, std::string_view message);
  // `outcome`: JSON.
  void finish(std::string_view outcome, std::string_view finish_reason);
  void write_snapshot();

  template <typename Members>
  void custom(std::string_view name, Members members) {
    frames().write({AguiType::custom, name}, [&](json::Writer& writer) {
      writer.key("name").string(name).key("value");
      members(writer);
    });
  }
  // `value`: JSON, written without the white space between its parts.
  void custom_as_it_is(std::string_view name, std::string_view value);

  View view_;
  model::Run run_;
  AguiCalls calls_;

  int64_t segment_ = -1;
  int64_t count_before_segment_ = 0;
  bool is_parked_ = false;
  std::string interrupts_;
  std::vector<model::events::Step> late_steps_;
  bool is_run_over_ = false;
  bool has_client_ = false;    // an AG-UI client began the run
  bool has_answered_ = false;  // with text of the agent itself
  std::string thread_id_;
  std::string run_id_;  // of this segment
  std::optional<std::string> parent_run_id_;
  std::optional<std::string> next_run_id_;
  std::string client_messages_;    // JSON objects with commas between them
  std::size_t earlier_bytes_ = 0;  // of them, before the user's last
  std::string user_message_;
  std::map<std::string, int, std::less<>> phases_;  // how often there was one of that name
  Usage usage_;
};

}  // namespace sluice::wire
