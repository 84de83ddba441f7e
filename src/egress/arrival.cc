#include "egress/arrival.h"

#include "egress/http_text.h"

namespace sluice::egress {
namespace {

// The first coding that changes the body, in whichever of the fields it stands; empty: there is none.
std::string coding_of(const Fields& fields) {
  for (const Field& field : fields.all()) {
    if (!same_word(field.name, "Content-Encoding")) continue;
    for (const auto coding : list_of(field.value)) {
      if (!same_word(coding, "identity")) return std::string(coding);
    }
  }
  return {};
}

}  // namespace

void Arrival::feed(std::string_view& bytes, std::string& out) {
  while (stage_ == Stage::head && !bytes.empty()) {
    const std::size_t before = bytes.size();
    take_head(bytes, out);
    if (bytes.size() == before) break;
  }
  while (stage_ == Stage::body) {
    const std::string_view payload = reader_->next(bytes);
    if (payload.empty()) break;
    payload_bytes_ += static_cast<int64_t>(payload.size());
    append_payload(payload, out);
  }
  if (stage_ == Stage::body && reader_->broken()) fail("the chunks of its answer are malformed");
  if (stage_ == Stage::body && reader_->done()) finish(out);
}

void Arrival::end(std::string& out) {
  if (stage_ == Stage::head) fail("it closed the connection without an answer");
  if (stage_ != Stage::body) return;
  reader_->end();
  if (reader_->broken()) return fail("it broke off in the middle of its answer");
  finish(out);
}

void Arrival::take_head(std::string_view& bytes, std::string& out) {
  const auto size = head_size(bytes.substr(0, head_bytes_max));
  if (!size) {
    if (bytes.size() >= head_bytes_max) fail("the head of its answer is too long");
    return;
  }
  ResponseHead head;
  if (parse_head(bytes.substr(0, *size), head)) return fail("the head of its answer is malformed");
  bytes.remove_prefix(*size);
  on_head(std::move(head), out);
}

void Arrival::on_head(ResponseHead head, std::string& out) {
  if (head.status == 101) return fail("it wants to speak another protocol, which nobody asked for");
  if (head.status < 200) return pass_on_interim(std::move(head), out);
  const bool is_part = head.status == 206 || (head.status < 300 && head.fields.count("Content-Range") > 0);
  if (is_part && terms_.whole_only) {
    return fail("it answered with a part (206), which nobody asked for and which cannot be looked through for secrets");
  }
  BodyPlan plan;
  if (const auto refusal = plan_body(head, terms_.method, plan)) return fail(refusal->words);
  const std::string coding = plan.framing == Framing::none ? "" : coding_of(head.fields);
  if ((terms_.scrubber || terms_.whole_only) && !coding.empty()) {
    return fail("its answer is compressed (" + coding +
                ") though it was asked not to, and so cannot be looked through "
                "for secrets");
  }
  status_ = head.status;
  keeps_upstream_ =
      head.minor_version == 1 && !head.fields.lists("Connection", "close") && plan.framing != Framing::until_close;
  reader_.emplace(plan);
  choose_framing(plan);
  append_head(std::move(head), plan.framing == Framing::none, out);
  begun_ = true;
  stage_ = Stage::body;
  if (terms_.scrubber) scrub_.emplace(terms_.scrubber);
}

// "100 Continue" was for us; others, such as "103 Early Hints", are for whoever knows of HTTP/1.1.
void Arrival::pass_on_interim(ResponseHead head, std::string& out) {
  if (head.status == 100 || terms_.client_minor_version == 0) return;
  head.fields.remove_hop_by_hop();
  head.fields.remove("Content-Length");
  head.fields.remove("Transfer-Encoding");
  out += "HTTP/1.1 " + std::to_string(head.status) + " " + clean(head.reason) + "\r\n";
  append_fields(head.fields, out);
  out += "\r\n";
}

void Arrival::choose_framing(BodyPlan plan) {
  framing_ = plan.framing;
  const bool as_it_was = plan.framing == Framing::none || (plan.framing == Framing::length && !terms_.scrubber);
  if (!as_it_was) framing_ = terms_.client_minor_version == 1 ? Framing::chunked : Framing::until_close;
  if (framing_ == Framing::until_close) terms_.keeps_client = false;
}

void Arrival::append_head(ResponseHead head, bool bodiless, std::string& out) {
  head.fields.remove_hop_by_hop();
  head.fields.remove("Transfer-Encoding");
  // Of an answer without a body the length is what the body would have had.
  if ((!bodiless && framing_ != Framing::length) || head.status == 204) head.fields.remove("Content-Length");
  out += "HTTP/1.1 " + std::to_string(head.status) + " " + clean(head.reason) + "\r\n";
  append_fields(head.fields, out);
  if (framing_ == Framing::chunked) out += "Transfer-Encoding: chunked\r\n";
  if (!terms_.keeps_client) out += "Connection: close\r\n";
  out += "\r\n";
}

void Arrival::append_fields(const Fields& fields, std::string& out) const {
  for (const Field& field : fields.all()) {
    out.append(clean(field.name)).append(": ").append(clean(field.value)).append("\r\n");
  }
}

void Arrival::append_payload(std::string_view payload, std::string& out) {
  std::string clean_payload;
  if (scrub_) {
    clean_payload = scrub_->push(payload);
    payload = clean_payload;
  }
  if (framing_ == Framing::chunked) {
    append_chunk(out, payload);
  } else {
    out.append(payload);
  }
}

void Arrival::finish(std::string& out) {
  if (scrub_) {
    const std::string rest = scrub_->finish();
    framing_ == Framing::chunked ? append_chunk(out, rest) : void(out.append(rest));
  }
  if (framing_ == Framing::chunked) out += last_chunk;
  stage_ = Stage::done;
}

void Arrival::fail(std::string_view fault) {
  stage_ = Stage::failed;
  fault_ = fault;
}

std::string Arrival::clean(const std::string& text) const {
  return terms_.scrubber ? terms_.scrubber->scrub(text) : text;
}

}  // namespace sluice::egress
