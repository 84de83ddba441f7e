// Requests from a box: what the proxy lets through means the same to whoever reads it next, and a body
// is the same body however its bytes are cut.
#include "base/check.h"
#include "egress/substitution.h"
#include "egress/upstream_request.h"
#include "http/body.h"
#include "http/head_parser.h"
#include "tests/fuzz/pieces.h"

using namespace sluice;
using namespace sluice::egress;

namespace {

constexpr http::HeadLimits unbounded{SIZE_MAX / 2, SIZE_MAX / 2, SIZE_MAX, SIZE_MAX};  // secrets make a head longer

Verdict judge(std::string_view alias, model::SecretPlace) {
  if (alias == "TOKEN") return {Verdict::Kind::go, "va lue\"&", {}};
  return {Verdict::Kind::refused, {}, "no"};
}

// Payload with its secrets, and how the body ended.
class Body {
 public:
  explicit Body(http::BodyPlan plan) : reader_(plan), substitution_(Quoting::url, judge) {}
  void feed(std::string_view bytes) {
    while (!refused_) {
      const std::string_view payload = reader_.next(bytes);
      if (payload.empty()) break;
      refused_ = substitution_.push(payload, out_).kind != Substitution::Kind::done;
    }
  }
  std::string told() {
    if (!refused_ && reader_.done()) refused_ = substitution_.finish(out_).kind != Substitution::Kind::done;
    return refused_ ? "refused" : reader_.broken() ? "broken" : reader_.done() ? out_ + "." : "more";
  }

 private:
  http::BodyReader reader_;
  BodySubstitution substitution_;
  std::string out_;
  bool refused_ = false;
};

void check_departure(const UpstreamRequest& request) {
  http::Headers fields = request.head.headers;
  std::string query = request.target.query;
  if (substitute_head(fields, query, judge).kind != Substitution::Kind::done) return;
  const std::string sent =
      upstream_head({.request = request, .fields = fields, .query = query, .body = request.body, .identity = true});
  http::HeadParser<http::RequestHead> parser(unbounded);
  SLUICE_CHECK(parser.feed(sent) == sent.size() && parser.done());
  const http::RequestHead& head = parser.head();
  SLUICE_CHECK(head.method == request.head.method && head.headers.count("Host") == 1);
  SLUICE_CHECK(head.headers.count("Connection") == 0 && head.headers.count("Accept-Encoding") == 1);
  http::BodyPlan plan;
  SLUICE_CHECK(!http::plan_body(head, plan));
  SLUICE_CHECK(plan.framing == request.body.framing && plan.length == request.body.length);
  Target target;
  SLUICE_CHECK(!parse_origin(head, request.target.to, target));
  SLUICE_CHECK(target.path == request.target.path);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const auto text = fuzz::text_of(data, size);
  http::HeadParser<http::RequestHead> parser(head_limits);
  const auto end = parser.feed(text);
  if (!parser.done()) return 0;
  http::RequestHead head = parser.head();
  if (head.method == "CONNECT") {
    Destination to;
    if (!parse_connect(head, to)) SLUICE_CHECK(!to.host.empty() && to.port > 0);
    return 0;
  }
  UpstreamRequest request;
  if (read_request(std::move(head), nullptr, request)) return 0;
  check_departure(request);
  Body whole(request.body);
  whole.feed(text.substr(end));
  Body cut(request.body);
  fuzz::each_piece(text.substr(end), [&](std::string_view piece) { cut.feed(piece); });
  SLUICE_CHECK(whole.told() == cut.told());
  return 0;
}
