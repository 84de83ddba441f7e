#include "http/multipart.h"

#include <algorithm>

#include "base/bytes.h"
#include "http/text.h"
#include "http/uri.h"

namespace sluice::http {
namespace {

constexpr std::string_view media_type = "multipart/form-data";
constexpr std::string_view crlf = "\r\n";

Error wrong(std::string what) { return {ErrorKind::invalid, std::move(what)}; }

struct Parameter {
  std::string_view name;
  std::string value;
};

// "; a=b; c=\"d\"": the parameters of a header's value, from its first semicolon on. In quotes, a
// backslash stands for itself unless a quote or a backslash follows, as browsers send it.
std::optional<std::vector<Parameter>> read_parameters(std::string_view text) {
  std::vector<Parameter> out;
  for (text = trimmed(text); !text.empty(); text = trimmed(text)) {
    if (text.front() != ';') return std::nullopt;
    text = trimmed(text.substr(1));
    const auto equals = text.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    Parameter parameter{.name = text.substr(0, equals)};
    if (!is_token(parameter.name)) return std::nullopt;
    const auto repeats = [&](const Parameter& other) { return same_word(other.name, parameter.name); };
    if (std::ranges::any_of(out, repeats)) return std::nullopt;
    text.remove_prefix(equals + 1);
    if (text.starts_with('"')) {
      std::size_t at = 1;
      for (; at < text.size() && text[at] != '"'; ++at) {
        const bool escapes = text[at] == '\\' && at + 1 < text.size() && (text[at + 1] == '"' || text[at + 1] == '\\');
        if (escapes) ++at;
        parameter.value += text[at];
      }
      if (at == text.size()) return std::nullopt;
      text.remove_prefix(at + 1);
    } else {
      const auto end = std::ranges::find_if_not(text, is_token_char) - text.begin();
      if (end == 0) return std::nullopt;
      parameter.value = text.substr(0, static_cast<std::size_t>(end));
      text.remove_prefix(static_cast<std::size_t>(end));
    }
    out.push_back(std::move(parameter));
  }
  return out;
}

std::optional<std::string> boundary_of(std::string_view content_type) {
  const auto parameters = read_parameters(content_type.substr(std::min(content_type.find(';'), content_type.size())));
  if (!parameters) return std::nullopt;
  for (const auto& [name, value] : *parameters) {
    if (!same_word(name, "boundary")) continue;
    const bool fine =
        !value.empty() && value.size() <= 70 && !value.ends_with(' ') && std::ranges::all_of(value, [](char c) {
          return is_token_char(c) || std::string_view("(),/:=? ").find(c) != std::string_view::npos;
        });
    return fine ? std::optional(value) : std::nullopt;
  }
  return std::nullopt;
}

// RFC 8187: filename*=UTF-8''%e2%82%ac.txt
std::optional<std::string> extended_value(std::string_view value) {
  constexpr std::string_view charset = "utf-8'";
  if (value.size() < charset.size() || !same_word(value.substr(0, charset.size()), charset)) return std::nullopt;
  value.remove_prefix(charset.size());
  const auto quote = value.find('\'');
  if (quote == std::string_view::npos) return std::nullopt;
  return percent_decode(value.substr(quote + 1));
}

Result<Unit> read_disposition(std::string_view value, Part& part) {
  const auto semicolon = std::min(value.find(';'), value.size());
  if (!same_word(trimmed(value.substr(0, semicolon)), "form-data")) {
    return wrong("a part's Content-Disposition is not form-data");
  }
  const auto parameters = read_parameters(value.substr(semicolon));
  if (!parameters) return wrong("a part's Content-Disposition is malformed");
  bool named = false;
  std::optional<std::string> extended;
  for (const auto& [name, text] : *parameters) {
    if (!is_utf8(text) || text.find('\0') != std::string::npos) return wrong("a part's name is not UTF-8");
    if (same_word(name, "name")) {
      part.name = text;
      named = true;
    } else if (same_word(name, "filename")) {
      part.filename = text;
    } else if (same_word(name, "filename*")) {
      extended = extended_value(text);
      if (!extended || !is_utf8(*extended)) return wrong("a part's filename* is malformed");
    }
  }
  if (extended) part.filename = std::move(extended);
  if (!named) return wrong("a part has no name");
  return Unit{};
}

Result<Unit> read_part_field(std::string_view line, Part& part, bool& has_disposition) {
  const auto colon = line.find(':');
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) return wrong("a part's header is malformed");
  const auto name = line.substr(0, colon);
  const auto value = trimmed(line.substr(colon + 1));
  if (!is_field_value(value)) return wrong("a part's header has a control character");
  if (same_word(name, "Content-Disposition")) {
    if (std::exchange(has_disposition, true)) return wrong("a part has two Content-Dispositions");
    return read_disposition(value, part);
  }
  if (same_word(name, "Content-Type")) part.content_type = value;
  if (same_word(name, "Content-Transfer-Encoding") && !same_word(value, "binary") && !same_word(value, "8bit") &&
      !same_word(value, "7bit")) {
    return wrong("a part has a Content-Transfer-Encoding, which forms do not have");
  }
  return Unit{};
}

// `head` has its lines, each with its CRLF.
Result<Unit> read_part_head(std::string_view head, Part& part) {
  bool has_disposition = false;
  while (!head.empty()) {
    const auto end = head.find(crlf);
    if (auto read = read_part_field(head.substr(0, end), part, has_disposition); !read) return read;
    head.remove_prefix(end + crlf.size());
  }
  if (!has_disposition) return wrong("a part has no Content-Disposition");
  return Unit{};
}

// As browsers do: these three would end the parameter or the header.
std::string in_quotes(std::string_view name) {
  std::string out = "\"";
  for (const char c : name) {
    switch (c) {
      case '"': out += "%22"; break;
      case '\r': out += "%0D"; break;
      case '\n': out += "%0A"; break;
      default: out += c;
    }
  }
  return out + "\"";
}

}  // namespace

bool is_multipart(std::string_view content_type) {
  return same_word(trimmed(content_type.substr(0, content_type.find(';'))), media_type);
}

Result<std::vector<Part>> read_multipart(std::string_view content_type, std::string_view body,
                                         const MultipartLimits& limits) {
  const auto boundary = boundary_of(content_type);
  if (!boundary) return wrong("the Content-Type has no usable boundary");
  const std::string first = "--" + *boundary;
  const std::string next = std::string(crlf) + first;
  if (!body.starts_with(first)) return wrong("the body does not begin with its boundary");
  body.remove_prefix(first.size());
  std::vector<Part> parts;
  while (!body.starts_with("--")) {
    if (!body.starts_with(crlf)) return wrong("a boundary does not end its line");
    if (parts.size() == limits.parts_max)
      return wrong("there are more than " + std::to_string(limits.parts_max) + " parts");
    body.remove_prefix(crlf.size());
    const auto head_end = body.substr(0, limits.head_bytes_max).find("\r\n\r\n");
    if (head_end == std::string_view::npos) return wrong("the headers of a part do not end, or are too long");
    Part part;
    if (auto read = read_part_head(body.substr(0, head_end + crlf.size()), part); !read) return read.error();
    body.remove_prefix(head_end + 2 * crlf.size());
    const auto end = body.find(next);
    if (end == std::string_view::npos) return wrong("a part does not end: the last boundary is missing");
    part.bytes = body.substr(0, end);
    parts.push_back(std::move(part));
    body.remove_prefix(end + next.size());
  }
  body.remove_prefix(2);
  if (!body.empty() && body != crlf) return wrong("something follows the last boundary");
  return parts;
}

Multipart write_multipart(const std::vector<Part>& parts, std::string boundary) {
  const auto contains = [&](std::string_view text) { return text.find("--" + boundary) != std::string_view::npos; };
  while (std::ranges::any_of(parts, contains, &Part::bytes)) boundary += 'x';

  Multipart made{.content_type = "multipart/form-data; boundary=" + boundary};
  auto& out = made.body;
  for (const auto& part : parts) {
    out.append("--").append(boundary).append("\r\nContent-Disposition: form-data; name=").append(in_quotes(part.name));
    if (part.filename) out.append("; filename=").append(in_quotes(*part.filename));
    out.append("\r\nContent-Type: ").append(part.content_type).append("\r\n\r\n").append(part.bytes).append(crlf);
  }
  out.append("--").append(boundary).append("--\r\n");
  return made;
}

}  // namespace sluice::http
