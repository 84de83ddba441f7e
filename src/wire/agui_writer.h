// AG-UI events as frames: numbered, each stream from 0, past the rules of their order, without those that a reader has.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/time.h"
#include "wire/agui_rules.h"
#include "wire/view.h"

namespace sluice::wire {

constexpr AguiPeer peer_of(Format format) {
  if (format == Format::agui_old_sse || format == Format::agui_old_ndjson) return AguiPeer::old;
  if (format == Format::agui_tanstack_sse || format == Format::agui_tanstack_ndjson) return AguiPeer::tanstack;
  return AguiPeer::current;
}

class AguiWriter {
 public:
  AguiWriter(Format format, int64_t after);

  // The next stream. Of one that is not told, frames are only counted.
  void begin_stream(std::string_view run_id, bool is_told);
  // Where frames go from here, and when what they tell of was.
  void aim(std::string& out, Timestamp at);
  void know_call(std::string_view id) { rules_.know_call(id); }

  // One event. `members` adds to an object that has its type.
  template <typename Members>
  void tell(const AguiEvent& event, Members members) {
    if (is_over_ || !may_tell(event) || !open_frame(event.type)) return;
    json::Writer writer(*out_);
    writer.begin_object().key("type").string(name_of(event.type));
    members(writer);
    close_frame();
  }
  // One more piece of a text; `head` is from head_of().
  void go_on(const AguiEvent& event, std::string_view head, std::string_view text);
  static std::string head_of(const AguiEvent& event);
  // Before a run ends with calls left to the client. False, and an end already, when it may not.
  bool leave(std::string_view call);

  AguiPeer peer() const { return peer_; }
  int64_t count() const { return count_; }
  bool is_over() const { return is_over_; }
  bool is_told() const { return is_told_; }
  int64_t violations() const { return violations_; }

 private:
  bool may_tell(const AguiEvent& event);
  void end_as_broken(std::string_view type, std::string_view id, std::string_view fault);
  // False when there is nothing to write: the reader has the frame, or does not want it.
  bool open_frame(AguiType type);
  void close_frame();

  AguiPeer peer_;
  bool is_sse_;
  int64_t after_;
  AguiRules rules_;
  std::string frame_head_;  // up to the frame's number
  int64_t count_ = 0;
  bool is_told_ = false;
  bool is_over_ = false;
  bool is_wrapped_ = false;  // in an object with its id
  int64_t violations_ = 0;
  std::string* out_ = nullptr;  // of one apply()
  Timestamp at_;
  std::string stamp_;  // the last member and the closing brace: most frames of a burst have the same
};

}  // namespace sluice::wire
