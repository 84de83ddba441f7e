#include "station/stream_request.h"

#include <algorithm>
#include <charconv>

#include "base/json.h"
#include "base/limits.h"

namespace sluice::station {
namespace {

constexpr std::size_t token_chars_max = 4096;
constexpr std::size_t url_chars_max = 2048;
constexpr int64_t reattach_seconds_max = 3600;

class BodyReader final {
 public:
  explicit BodyReader(json::Value body) : body_(body) {}

  // Empty if the member is missing or not a string; both are reported.
  std::string text(std::string_view name) {
    const auto value = body_.find(name);
    if (!value) return refuse(name, "is required"), "";
    if (!value->string()) return refuse(name, "must be a string"), "";
    return std::string(*value->string());
  }
  std::string token(std::string_view name) {
    auto value = text(name);
    if (!is_refused(name) && !is_token(value)) refuse(name, "must be 1 to 4096 visible ASCII characters");
    return value;
  }
  std::optional<std::string> optional_token(std::string_view name) {
    const auto value = body_.find(name);
    if (!value || value->is_null()) return std::nullopt;
    return token(name);
  }
  std::string agent_url(const std::vector<std::string>& rules) {
    constexpr std::string_view name = "agent_url";
    auto url = text(name);
    while (url.ends_with('/')) url.pop_back();
    if (is_refused(name)) return url;
    if (url.size() > url_chars_max || !net::is_plain_url(url)) {
      refuse(name, "must be a plain http or https URL, without credentials, query or escapes");
    } else if (!net::is_allowed(url, rules)) {
      refuse(name, "is not among the workspaces that this runner serves (runner.agent_urls)");
    }
    return url;
  }
  std::string prompt() {
    constexpr std::string_view name = "prompt";
    auto prompt = text(name);
    if (!is_refused(name) && prompt.empty()) refuse(name, "must not be empty");
    if (prompt.size() > limits::message_content_bytes_max) refuse(name, "is too long: 1 MiB at most");
    return prompt;
  }
  void refuse(std::string_view name, std::string message) {
    errors.push_back({"/" + std::string(name), std::move(message)});
  }

  std::vector<model::FieldError> errors;

 private:
  bool is_refused(std::string_view name) const { return !errors.empty() && errors.back().pointer.substr(1) == name; }

  json::Value body_;
};

std::optional<dispatch::Profile> profile_of(const net::Request& request) {
  const auto query = net::parse_query(request.query);
  if (!query) return std::nullopt;
  auto profile = dispatch::Profile::plain;
  for (const auto& [name, value] : *query) {
    if (name != "profile") continue;
    if (value != "plain" && value != "extended" && value != dispatch::resumed_profile) return std::nullopt;
    profile = value == "plain" ? dispatch::Profile::plain : dispatch::Profile::extended;
  }
  return profile;
}

// Reads the headers about re-attaching.
void read_headers(const net::Headers& headers, StreamRequest& read, std::vector<model::FieldError>& errors) {
  const auto name = [&](std::string_view header, std::string& out) {
    out = std::string(headers.find(header).value_or(""));
    if (!out.empty() && !is_name(out)) {
      errors.push_back({std::string(header), "must be 1 to 64 letters, digits, _ and -"});
    }
  };
  name(dispatch::dispatch_header, read.dispatch);
  name(dispatch::reader_header, read.reader);
  const auto text = headers.find(dispatch::reattach_header);
  if (!text) return;
  int64_t seconds = 0;
  const auto [end, fault] = std::from_chars(text->data(), text->data() + text->size(), seconds);
  if (fault != std::errc{} || end != text->data() + text->size() || seconds < 1 || seconds > reattach_seconds_max) {
    errors.push_back({std::string(dispatch::reattach_header), "must be a number of seconds from 1 to 3600"});
    return;
  }
  read.keep = Millis{seconds * 1000};
  read.careful = headers.find(dispatch::careful_header).has_value();
}

}  // namespace

bool is_name(std::string_view text) {
  constexpr std::size_t name_chars_max = 64;
  return !text.empty() && text.size() <= name_chars_max && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

bool is_token(std::string_view text) {
  return !text.empty() && text.size() <= token_chars_max &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~'; });
}

std::variant<StreamRequest, model::Problem> read_stream_request(const net::Request& request,
                                                                const StationOptions& options) {
  const auto document = json::Document::parse(request.body);
  if (!document) {
    return model::Problem{.slug = model::Slug::malformed_request,
                          .detail = "The body cannot be read: " + document.error().what + "."};
  }
  if (document.value().root().kind() != json::Kind::object) {
    return model::Problem{.slug = model::Slug::validation_error,
                          .detail = "The body is not a JSON object.",
                          .errors = {{"", "must be an object"}}};
  }
  BodyReader body(document.value().root());
  StreamRequest read{.agent_url = body.agent_url(options.agent_urls),
                     .otp_setup = body.token("otp_setup"),
                     .otp_run = body.token("otp_run"),
                     .otp_upload = body.optional_token("otp_upload"),
                     .prompt = body.prompt()};
  read_headers(request.headers, read, body.errors);
  const auto profile = profile_of(request);
  if (!profile) body.errors.push_back({"profile", "must be plain, extended or resumed"});
  if (!body.errors.empty()) {
    return model::Problem{.slug = model::Slug::validation_error,
                          .detail = "The dispatch was not begun, and no token was used.",
                          .errors = std::move(body.errors)};
  }
  read.profile = *profile;
  return read;
}

}  // namespace sluice::station
