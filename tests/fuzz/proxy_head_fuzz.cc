// Requests from a box: what the proxy lets through means the same to whoever reads it next, and a body
// is the same body however its bytes are cut.
#include "base/check.h"
#include "egress/errand.h"
#include "egress/substitution.h"
#include "tests/fuzz/pieces.h"

using namespace sluice;
using namespace sluice::egress;

namespace {

Verdict judge(std::string_view alias, model::SecretPlace) {
  if (alias == "TOKEN") return {Verdict::Kind::go, "va lue\"&", {}};
  return {Verdict::Kind::refused, {}, "no"};
}

// Payload with its secrets, and how the body ended.
class Body {
 public:
  explicit Body(BodyPlan plan) : reader_(plan), substitution_(Quoting::url, judge) {}
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
  BodyReader reader_;
  BodySubstitution substitution_;
  std::string out_;
  bool refused_ = false;
};

void check_departure(const Errand& errand) {
  Fields fields = errand.head.fields;
  std::string query = errand.target.query;
  if (substitute_head(fields, query, judge).kind != Substitution::Kind::done) return;
  const std::string sent =
      upstream_head({.errand = errand, .fields = fields, .query = query, .body = errand.body, .identity = true});
  SLUICE_CHECK(head_size(sent) == sent.size());
  RequestHead head;
  SLUICE_CHECK(!parse_head(sent, head));
  SLUICE_CHECK(head.method == errand.head.method && head.fields.count("Host") == 1);
  SLUICE_CHECK(head.fields.count("Connection") == 0 && head.fields.count("Accept-Encoding") == 1);
  BodyPlan plan;
  SLUICE_CHECK(!plan_body(head, plan));
  SLUICE_CHECK(plan.framing == errand.body.framing && plan.length == errand.body.length);
  Target target;
  SLUICE_CHECK(!parse_origin(head, errand.target.to, target));
  SLUICE_CHECK(target.path == errand.target.path);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const auto text = fuzz::text_of(data, size);
  const auto end = head_size(text);
  if (!end) return 0;
  RequestHead head;
  if (parse_head(text.substr(0, *end), head)) return 0;
  if (head.method == "CONNECT") {
    Destination to;
    if (!parse_connect(head, to)) SLUICE_CHECK(!to.host.empty() && to.port > 0);
    return 0;
  }
  Errand errand;
  if (read_errand(std::move(head), nullptr, errand)) return 0;
  check_departure(errand);
  Body whole(errand.body);
  whole.feed(text.substr(*end));
  Body cut(errand.body);
  fuzz::each_piece(text.substr(*end), [&](std::string_view piece) { cut.feed(piece); });
  SLUICE_CHECK(whole.told() == cut.told());
  return 0;
}
