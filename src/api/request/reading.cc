#include "api/request/reading.h"

#include <strings.h>

#include <algorithm>
#include <charconv>

#include "base/bytes.h"

namespace sluice::api {
namespace {

// "application/json", "application/merge-patch+json; charset=utf-8" …
bool is_json_type(std::string_view content_type) {
  content_type = content_type.substr(0, content_type.find(';'));
  while (content_type.ends_with(' ') || content_type.ends_with('\t')) content_type.remove_suffix(1);
  const auto ends_with = [&](std::string_view tail) {
    return content_type.size() >= tail.size() &&
           strncasecmp(content_type.data() + content_type.size() - tail.size(), tail.data(), tail.size()) == 0;
  };
  return (content_type.size() == json_type.size() && ends_with(json_type)) || ends_with("+json");
}

bool is_identity(std::string_view coding) {
  constexpr std::string_view identity = "identity";
  return coding.size() == identity.size() && strncasecmp(coding.data(), identity.data(), identity.size()) == 0;
}

// The error for well-formed JSON with a number that is out of range.
constexpr std::string_view number_too_large = "a number is too large to be read";

template <typename Number>
bool is_in_range(std::string_view text) {
  Number number{};
  return std::from_chars(text.data(), text.data() + text.size(), number).ec == std::errc();
}

bool does_fit(std::string_view number) {
  if (number.find_first_of(".eE") != std::string_view::npos) return is_in_range<double>(number);
  return is_in_range<int64_t>(number) || is_in_range<uint64_t>(number);
}

// The same JSON with the largest numbers in place of those that are out of range.
std::string saturated(std::string_view text) {
  std::string out;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') {
      for (++i; i < text.size() && text[i] != '"'; ++i) {
        if (text[i] == '\\') ++i;
      }
    } else if (text[i] == '-' || (text[i] >= '0' && text[i] <= '9')) {
      const auto end = std::min(text.find_first_of(",:]} \t\r\n", i), text.size());
      const auto number = text.substr(i, end - i);
      if (!does_fit(number)) {
        out.append(text.substr(kept, i - kept)).append(number.front() == '-' ? "-1e308" : "1e308");
        kept = end;
      }
      i = end;
    }
  }
  return out.append(text.substr(std::min(kept, text.size())));
}

}  // namespace

std::optional<json::Document> read_body(const RequestPtr& request, Numbers numbers) {
  const auto coding = request->header("Content-Encoding");
  if (coding && !is_identity(*coding)) {
    request->problem(model::Slug::unsupported_media_type,
                     "The body must be sent as it is, without a Content-Encoding.");
    return std::nullopt;
  }
  const auto type = request->header("Content-Type");
  if (type && !is_json_type(*type)) {
    request->problem(model::Slug::unsupported_media_type, "The body must be application/json.");
    return std::nullopt;
  }
  const net::Body& body = request->http().body;
  if (body.empty()) {
    request->problem(model::Slug::malformed_request, "The body is empty; a JSON object is expected, {} at least.");
    return std::nullopt;
  }
  auto document = json::Document::parse(body);
  if (!document && numbers == Numbers::saturated && document.error().what == number_too_large) {
    document = json::Document::parse(saturated(body));
  }
  if (!document) {
    request->problem(model::Slug::malformed_request, "The body cannot be read: " + document.error().what + ".");
    return std::nullopt;
  }
  return std::move(document).take();
}

std::optional<model::Problem> problem_of(const RequestPtr& request, const Findings& findings) {
  for (const auto& miss : findings.near_misses) {
    if (!request->may_log()) break;
    // Only the pointer is logged, never the value: it may be a secret in the wrong place.
    request->services().needs.log.write(world::LogLevel::warn, "unknown field ignored",
                                        {{"field", miss.given},
                                         {"did_you_mean", miss.meant},
                                         {"operation", request->route()->operation},
                                         {"request_id", request->request_id()}});
  }
  if (findings.errors.empty()) return std::nullopt;
  return model::validation_error(findings.errors);
}

bool refused(const RequestPtr& request, const Findings& findings) {
  const auto problem = problem_of(request, findings);
  if (problem) request->problem(*problem);
  return problem.has_value();
}

std::optional<std::string> read_idempotency_key(const RequestPtr& request, Findings& findings) {
  const auto key = request->header("Idempotency-Key");
  if (!key) return std::nullopt;
  const bool visible = std::ranges::all_of(*key, [](char c) { return c > ' ' && c <= '~'; });
  if (key->empty() || key->size() > limits::idempotency_key_chars_max || !visible ||
      request->is_repeated("Idempotency-Key")) {
    findings.refuse("Idempotency-Key", "must be 1 to 255 visible ASCII characters, given once");
    return std::nullopt;
  }
  return std::string(*key);
}

Query::Query(const RequestPtr& request, NameList known, Findings& findings) : findings_(findings) {
  if (request->http().query.empty()) return;
  auto parsed = net::parse_query(request->http().query);
  if (!parsed) {
    findings_.refuse("query", "is not a well-formed query string");
    return;
  }
  for (auto& parameter : *parsed) {
    const auto& [name, value] = parameter;
    if (std::ranges::find(known, name) == known.end()) {
      findings_.note_unknown(name, name, known);
    } else if (find(name)) {
      refuse(name, "must be given once");
    } else if (!is_utf8(value)) {
      refuse(name, "must be UTF-8");
    } else {
      parameters_.push_back(std::move(parameter));
    }
  }
}

std::optional<std::string_view> Query::find(std::string_view name) const {
  const auto found = std::ranges::find_if(parameters_, [&](const auto& parameter) { return parameter.first == name; });
  if (found == parameters_.end()) return std::nullopt;
  return found->second;
}

std::optional<int64_t> Query::integer(std::string_view name, int64_t least, int64_t most) const {
  const auto text = find(name);
  if (!text) return std::nullopt;
  int64_t number = 0;
  const auto [end, failed] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (failed == std::errc{} && end == text->data() + text->size() && number >= least && number <= most) return number;
  refuse(name, "must be a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  return std::nullopt;
}

void Query::refuse(std::string_view name, std::string message) const {
  findings_.refuse(std::string(name), std::move(message));
}

}  // namespace sluice::api
