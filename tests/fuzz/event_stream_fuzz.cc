// The client's parsing recipe (I-24) against a server gone mad: the same events however the bytes are
// cut, numbers without a gap, nothing after the terminal.
#include "base/check.h"
#include "client/client.h"
#include "tests/fuzz/pieces.h"

using namespace sluice;

namespace {

class Listener {
 public:
  void feed(std::string_view bytes) {
    if (broken_) return;
    auto events = stream_.feed(bytes);
    if (!events) {
      broken_ = true;
      return;
    }
    for (const auto& event : events.value()) {
      SLUICE_CHECK(!over_ && event.seq == next_++);
      over_ = event.terminal();
      lines_.append(event.line).append("\n");
    }
  }
  bool broken() const { return broken_; }
  bool complete() const { return stream_.complete(); }
  const std::string& lines() const { return lines_; }

 private:
  client::EventStream stream_;
  std::string lines_;
  int64_t next_ = 0;
  bool over_ = false;
  bool broken_ = false;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const auto text = fuzz::text_of(data, size);
  Listener whole;
  whole.feed(text);
  Listener cut;
  fuzz::each_piece(text, [&](std::string_view piece) { cut.feed(piece); });
  SLUICE_CHECK(whole.broken() == cut.broken());
  // A feed that breaks tells nothing of the lines before the break, so only the cut one may know more.
  SLUICE_CHECK(whole.broken() || (whole.lines() == cut.lines() && whole.complete() == cut.complete()));
  return 0;
}
