#include "egress/response_filter.h"

#include "http/text.h"

namespace sluice::egress {
namespace {

// The first content coding other than identity; empty if there is none.
std::string coding_of(const http::Headers& fields) {
  for (const http::Header& field : fields.all()) {
    if (!http::same_word(field.name, "Content-Encoding")) continue;
    for (const auto coding : http::list_of(field.value)) {
      if (!http::same_word(coding, "identity")) return std::string(coding);
    }
  }
  return {};
}

}  // namespace

void ResponseFilter::feed(std::string_view& bytes, std::string& out) {
  while (stage_ == Stage::head && !bytes.empty()) take_head(bytes, out);
  while (stage_ == Stage::body) {
    const std::string_view payload = reader_->next(bytes);
    if (payload.empty()) break;
    payload_bytes_ += static_cast<int64_t>(payload.size());
    append_payload(payload, out);
  }
  if (stage_ == Stage::body && reader_->broken()) fail("the chunks of its answer are malformed");
  if (stage_ == Stage::body && reader_->done()) finish(out);
}

void ResponseFilter::end(std::string& out) {
  if (stage_ == Stage::head) fail("it closed the connection without an answer");
  if (stage_ != Stage::body) return;
  reader_->end();
  if (reader_->broken()) return fail("it broke off in the middle of its answer");
  finish(out);
}

void ResponseFilter::take_head(std::string_view& bytes, std::string& out) {
  bytes.remove_prefix(parser_.feed(bytes));
  if (const auto& fault = parser_.fault()) {
    const bool is_long = fault->kind == http::Fault::Kind::large_headers || fault->kind == http::Fault::Kind::long_line;
    return fail(is_long ? "the head of its answer is too long" : "the head of its answer is malformed");
  }
  if (!parser_.done()) return;
  http::ResponseHead head = std::move(parser_.head());
  parser_ = http::HeadParser<http::ResponseHead>(head_limits);
  on_head(std::move(head), out);
}

void ResponseFilter::on_head(http::ResponseHead head, std::string& out) {
  if (head.status == 101) return fail("it wants to speak another protocol, which was not asked for");
  if (head.status < 200) return pass_on_interim(std::move(head), out);
  const bool is_part = head.status == 206 || (head.status < 300 && head.headers.count("Content-Range") > 0);
  if (is_part && terms_.whole_only) {
    return fail(
        "it answered with a part (206), which was not asked for and which cannot be looked through for secrets");
  }
  http::BodyPlan plan;
  if (const auto fault = http::plan_body(head, terms_.method, plan)) {
    return fail("where the body ends is in doubt: " + std::string(fault->detail));
  }
  const std::string coding = plan.framing == http::Framing::none ? "" : coding_of(head.headers);
  if ((terms_.scrubber || terms_.whole_only) && !coding.empty()) {
    return fail("its answer is compressed (" + coding +
                ") though it was asked not to, and so cannot be looked through "
                "for secrets");
  }
  status_ = head.status;
  keeps_upstream_ = head.minor_version == 1 && head.keeps_connection() && plan.framing != http::Framing::until_close;
  reader_.emplace(plan);
  choose_framing(plan);
  append_head(std::move(head), plan.framing == http::Framing::none, out);
  begun_ = true;
  stage_ = Stage::body;
  if (terms_.scrubber) scrub_.emplace(terms_.scrubber);
}

// "100 Continue" was meant for the proxy; others, such as "103 Early Hints", are passed to clients of HTTP/1.1.
void ResponseFilter::pass_on_interim(http::ResponseHead head, std::string& out) {
  if (head.status == 100 || terms_.client_minor_version == 0) return;
  head.headers.remove_hop_by_hop();
  head.headers.remove("Content-Length");
  head.headers.remove("Transfer-Encoding");
  out += "HTTP/1.1 " + std::to_string(head.status) + " " + clean(head.reason) + "\r\n";
  append_fields(head.headers, out);
  out += "\r\n";
}

void ResponseFilter::choose_framing(http::BodyPlan plan) {
  framing_ = plan.framing;
  const bool as_it_was =
      plan.framing == http::Framing::none || (plan.framing == http::Framing::length && !terms_.scrubber);
  if (!as_it_was) framing_ = terms_.client_minor_version == 1 ? http::Framing::chunked : http::Framing::until_close;
  if (framing_ == http::Framing::until_close) terms_.keeps_client = false;
}

void ResponseFilter::append_head(http::ResponseHead head, bool bodiless, std::string& out) {
  head.headers.remove_hop_by_hop();
  head.headers.remove("Transfer-Encoding");
  // In a response without a body the length is the one that the body would have had.
  if ((!bodiless && framing_ != http::Framing::length) || head.status == 204) head.headers.remove("Content-Length");
  out += "HTTP/1.1 " + std::to_string(head.status) + " " + clean(head.reason) + "\r\n";
  append_fields(head.headers, out);
  if (framing_ == http::Framing::chunked) out += "Transfer-Encoding: chunked\r\n";
  if (!terms_.keeps_client) out += "Connection: close\r\n";
  out += "\r\n";
}

void ResponseFilter::append_fields(const http::Headers& fields, std::string& out) const {
  for (const http::Header& field : fields.all()) {
    out.append(clean(field.name)).append(": ").append(clean(field.value)).append("\r\n");
  }
}

void ResponseFilter::append_payload(std::string_view payload, std::string& out) {
  std::string clean_payload;
  if (scrub_) {
    clean_payload = scrub_->push(payload);
    payload = clean_payload;
  }
  if (framing_ == http::Framing::chunked) {
    http::append_chunk(out, payload);
  } else {
    out.append(payload);
  }
}

void ResponseFilter::finish(std::string& out) {
  if (scrub_) {
    const std::string rest = scrub_->finish();
    framing_ == http::Framing::chunked ? http::append_chunk(out, rest) : void(out.append(rest));
  }
  if (framing_ == http::Framing::chunked) out += http::last_chunk;
  stage_ = Stage::done;
}

void ResponseFilter::fail(std::string_view fault) {
  stage_ = Stage::failed;
  fault_ = fault;
}

std::string ResponseFilter::clean(const std::string& text) const {
  return terms_.scrubber ? terms_.scrubber->scrub(text) : text;
}

}  // namespace sluice::egress
