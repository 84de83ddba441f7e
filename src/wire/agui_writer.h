// AG-UI events as frames: each stream is numbered from 0, every event passes the rules of their order, and frames that
// the reader has are left out. Used by one fold, on its thread.
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

// Clients refuse frames beyond some length: a result or a diff that is longer is cut.
inline constexpr std::size_t agui_content_bytes_max = std::size_t{1} << 20;

class AguiWriter {
 public:
  AguiWriter(Format format, int64_t after);

  // The next stream. The frames of one that is not shown are only counted.
  void begin_stream(std::string_view run_id, bool is_shown);
  // Where frames go from here, and the time that they bear.
  void aim(std::string& out, Timestamp at);
  void know_call(std::string_view id) { rules_.know_call(id); }

  // One event. `members` adds to an object that has its type.
  template <typename Members>
  void write(const AguiEvent& event, Members members) {
    if (is_over_ || !admits(event) || !open_frame(event.type)) return;
    json::Writer writer(*out_);
    writer.begin_object().key("type").string(name_of(event.type));
    members(writer);
    close_frame();
  }
  // One more piece of a text; `head` is from head_of().
  void write_piece(const AguiEvent& event, std::string_view head, std::string_view text);
  static std::string head_of(const AguiEvent& event);
  // Before a run ends with calls left to the client. False, and an end already, when it may not.
  bool leave(std::string_view call);

  AguiPeer peer() const { return peer_; }
  int64_t count() const { return count_; }
  bool is_over() const { return is_over_; }
  bool is_shown() const { return is_shown_; }
  int64_t violations() const { return violations_; }

 private:
  bool admits(const AguiEvent& event);
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
  bool is_shown_ = false;
  bool is_over_ = false;
  bool is_wrapped_ = false;  // in an object with its id
  int64_t violations_ = 0;
  std::string* out_ = nullptr;  // of one apply()
  Timestamp at_;
  std::string stamp_;  // the last member and the closing brace: most frames of a burst have the same
};

}  // namespace sluice::wire
