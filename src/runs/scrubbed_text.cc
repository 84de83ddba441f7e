#include <utility>

#include "base/json.h"
#include "runs/runs.h"

namespace sluice::runs {
namespace {

// What is scrubbed is a string, whatever it was: a number can be a secret too.
void rewrite(json::Writer& writer, json::Value value, const vault::Scrubber& scrubber, bool is_outermost) {
  switch (value.kind()) {
    case json::Kind::object:
      writer.begin_object();
      value.each_member([&](std::string_view name, json::Value member) {
        writer.key_escaped(is_outermost ? std::string(name) : scrubber.scrub(name));
        const bool is_ours = is_outermost && (member.kind() == json::Kind::integer || member.is_null());
        is_ours ? (void)writer.raw(member.to_text()) : rewrite(writer, member, scrubber, false);
      });
      writer.end_object();
      return;
    case json::Kind::array:
      writer.begin_array();
      value.each_element([&](json::Value element) { rewrite(writer, element, scrubber, false); });
      writer.end_array();
      return;
    case json::Kind::string: writer.string(scrubber.scrub(*value.string())); return;
    case json::Kind::null:
    case json::Kind::boolean:
    case json::Kind::integer:
    case json::Kind::real: {
      const auto text = value.to_text();
      scrubber.finds(text) ? (void)writer.string(scrubber.scrub(text)) : (void)writer.raw(text);
      return;
    }
  }
}

}  // namespace

std::string ScrubbedText::push(std::string piece) {
  if (secrets_ == nullptr) return piece;
  auto now = secrets_->scrubber();
  std::string out;
  if (now != scrubber_) {
    out = finish();
    scrubber_ = std::move(now);
  }
  if (!stream_ && !scrubber_->is_idle()) stream_.emplace(scrubber_);
  if (!stream_) return out.empty() ? std::move(piece) : out + piece;
  return out + stream_->push(piece);
}

std::string ScrubbedText::finish() {
  if (!stream_) return {};
  auto rest = stream_->finish();
  stream_.reset();
  return rest;
}

std::string scrubbed(const SharedSecrets& secrets, std::string text) {
  if (secrets == nullptr) return text;
  const auto scrubber = secrets->scrubber();
  return scrubber->is_idle() ? std::move(text) : scrubber->scrub(text);
}

std::string scrubbed_json(const SharedSecrets& secrets, std::string text) {
  if (secrets == nullptr) return text;
  const auto scrubber = secrets->scrubber();
  if (scrubber->is_idle()) return text;
  const auto document = json::Document::parse(text);
  if (!document) return scrubber->scrub(text);
  std::string out;
  json::Writer writer(out);
  rewrite(writer, document.value().root(), *scrubber, true);
  return out;
}

}  // namespace sluice::runs
