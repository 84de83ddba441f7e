// What a client may send on HTTP/2 after the preface: never more kept than the limits allow, every stream told
// of once, and everything answered or reset.
#include <set>

#include "base/check.h"
#include "net/http2_session.h"
#include "tests/fuzz/pieces.h"

using namespace sluice;

namespace {

constexpr net::RequestLimits small = {.head = {.line_bytes_max = 64, .header_bytes_max = 256, .header_count_max = 8},
                                      .body_bytes_max = 64};

// Answers at once, some with a body, some by giving up.
class Answering final : public net::Http2Session::Listener {
 public:
  void take(std::string_view bytes) {
    session_.receive(bytes);
    net::Outbox outbox;
    session_.fill(outbox, 1024);
    SLUICE_CHECK(outbox.size() < 64 * 1024);
  }

 private:
  void on_begun(net::Http2Stream& stream) override { SLUICE_CHECK(open_.insert(stream.id()).second); }
  void on_head(net::Http2Stream& stream) override {
    SLUICE_CHECK(!stream.refused());
    if (stream.expects_continue()) session_.submit_continue(stream);
  }
  void on_body(net::Http2Stream& stream) override { SLUICE_CHECK(stream.body_size() <= small.body_bytes_max); }
  void on_request(net::Http2Stream& stream) override {
    const bool is_head = stream.is_head_request();
    const net::Request request = stream.take_request();
    SLUICE_CHECK(request.body.size() <= small.body_bytes_max);
    SLUICE_CHECK(request.headers.all().size() <= small.head.header_count_max);
    SLUICE_CHECK(request.headers.count("host") == 1);
    SLUICE_CHECK(request.path.starts_with('/') || request.path == "*");
    for (const auto& header : request.headers.all()) {
      SLUICE_CHECK(header.name.find_first_of("\r\n\0: ") == std::string::npos);
      SLUICE_CHECK(header.value.find_first_of(std::string_view("\r\n\0", 3)) == std::string::npos);
    }
    if (request.path == "/abort") stream.ending = net::Http2Stream::Ending::abort;
    if (request.path == "/reset") return session_.reset(stream, net::Http2Error::internal_error);
    answer(stream, is_head);
  }
  void on_refused(net::Http2Stream& stream) override {
    SLUICE_CHECK(stream.refused() && !stream.answered);
    answer(stream, stream.is_head_request());
  }
  void on_sent(net::Http2Stream& stream) override { SLUICE_CHECK(open_.contains(stream.id())); }
  void on_answered_early(net::Http2Stream& stream) override {
    SLUICE_CHECK(open_.contains(stream.id()) && !stream.request_ended());
  }
  void on_closed(net::Http2Stream& stream) override { SLUICE_CHECK(open_.erase(stream.id()) == 1); }
  void on_nuisance() override {
    if (++nuisances_ > 100) session_.terminate(net::Http2Error::enhance_your_calm);
  }

  void answer(net::Http2Stream& stream, bool is_head) {
    if (!is_head) stream.outbox.add_text("an answer");
    if (stream.ending == net::Http2Stream::Ending::none) stream.ending = net::Http2Stream::Ending::finish;
    session_.submit(stream, {.status = 200,
                             .headers = headers_,
                             .date = "today",
                             .length = {},
                             .body = is_head ? net::Http2Session::BodyOf::none : net::Http2Session::BodyOf::outbox});
  }

  const net::Headers headers_ = {{"X-Y", "a\nb"}};
  std::set<int32_t> open_;
  int nuisances_ = 0;
  net::BodyRoom bodies_;
  net::Http2Session session_{*this, small, bodies_};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  Answering whole;
  whole.take("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  whole.take(fuzz::text_of(data, size));
  Answering cut;
  cut.take("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  fuzz::each_piece(fuzz::text_of(data, size), [&](std::string_view piece) { cut.take(piece); });
  return 0;
}
