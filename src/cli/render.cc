#include "cli/render.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/utf8.h"

namespace sluice::cli {
namespace {

constexpr std::size_t cell_chars_max = 60;

// Cells are one line, and not longer than a screen can bear.
std::string cell(json::Value value) {
  auto text = plain(value);
  std::replace(text.begin(), text.end(), '\n', ' ');
  if (utf8_length(text) <= cell_chars_max) return text;
  std::size_t end = 0;
  for (std::size_t count = 0; end < text.size(); ++end) {
    if (!continues_utf8(text[end]) && ++count == cell_chars_max) break;
  }
  return text.substr(0, end) + "…";
}

json::Value member_of(json::Value row, std::string_view path) {
  const auto dot = path.find('.');
  const auto found = row.find(path.substr(0, dot));
  if (!found) return {};
  return dot == std::string_view::npos ? *found : member_of(*found, path.substr(dot + 1));
}

void append_padded(std::string& out, std::string_view text, std::size_t width) {
  out += text;
  out.append(width - std::min(width, utf8_length(text)), ' ');
}

std::string text_member(json::Value object, std::string_view name) {
  const auto member = object.find(name);
  return std::string(member ? member->string().value_or("") : "");
}

constexpr char escape = '\x1b';
constexpr auto open_escape = std::string_view::npos;

bool is_between(char byte, char low, char high) { return byte >= low && byte <= high; }

// How many bytes from `at` on are between the two.
std::size_t count_between(std::string_view text, std::size_t at, char low, char high) {
  std::size_t count = 0;
  while (at + count < text.size() && is_between(text[at + count], low, high)) ++count;
  return count;
}

// Of the sequence that `text` begins with (CSI, OSC, or a short one); 0: it is none, open_escape: its end is missing.
std::size_t escape_size(std::string_view text) {
  if (text.size() < 2) return open_escape;
  if (text[1] == ']') {
    const auto end = text.find_first_of("\x07\x1b", 2);
    if (end == std::string_view::npos || (text[end] == escape && end + 1 == text.size())) return open_escape;
    if (text[end] == '\x07') return end + 1;
    return text[end + 1] == '\\' ? end + 2 : 2;
  }
  const bool is_long = text[1] == '[';
  std::size_t at = is_long ? 2 : 1;
  if (is_long) at += count_between(text, at, '0', '?');
  at += count_between(text, at, ' ', '/');
  if (at == text.size()) return open_escape;
  if (is_between(text[at], is_long ? '@' : '0', '~')) return at + 1;
  return is_long ? 2 : 0;
}

std::string without_escapes(std::string_view text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size();) {
    const auto size = text[at] == escape ? escape_size(text.substr(at)) : 0;
    if (size == 0) plain += text[at++];
    if (size == open_escape) at += std::min<std::size_t>(2, text.size() - at);
    if (size != 0 && size != open_escape) at += size;
  }
  return plain;
}

std::string overwritten(std::string_view line) {
  std::vector<std::string_view> shown;
  std::size_t column = 0;
  for (std::size_t at = 0, size = 1; at < line.size(); at += size) {
    size = 1;
    while (at + size < line.size() && continues_utf8(line[at + size])) ++size;
    if (line[at] == '\r') {
      column = 0;
    } else if (line[at] == '\b') {
      column -= std::min<std::size_t>(column, 1);
    } else {
      if (column == shown.size()) shown.emplace_back();
      shown[column++] = line.substr(at, size);
    }
  }
  std::string text;
  for (const auto letter : shown) text += letter;
  return text;
}

}  // namespace

std::string printed_text(std::string_view output) {
  const auto plain = without_escapes(output);
  std::string text;
  std::string_view rest = plain;
  while (true) {
    const auto end = std::min(rest.find('\n'), rest.size());
    auto line = rest.substr(0, end);
    while (line.ends_with('\r')) line.remove_suffix(1);
    text += overwritten(line);
    if (end == rest.size()) return text;
    text += '\n';
    rest.remove_prefix(end + 1);
  }
}

std::string_view without_open_escape(std::string_view output) {
  const auto last = output.rfind(escape);
  if (last == std::string_view::npos || escape_size(output.substr(last)) != open_escape) return output;
  // The end of an OSC sequence begins with an escape too.
  const auto before = last == 0 ? std::string_view::npos : output.rfind(escape, last - 1);
  const bool is_end = before != std::string_view::npos && escape_size(output.substr(before)) == open_escape;
  return output.substr(0, is_end ? before : last);
}

std::string harmless(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool control = (byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7F;
    // U+0080–U+009F: some terminals obey them as they obey ESC.
    const bool high_control = byte == 0xC2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xA0;
    if (control || high_control) {
      out += "\xEF\xBF\xBD";
      i += high_control ? 1 : 0;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string plain(json::Value value) {
  if (value.is_null()) return "-";
  if (const auto text = value.string()) return harmless(*text);
  return harmless(value.to_text());
}

std::string table_of(json::Value rows, std::span<const Column> columns) {
  std::vector<std::vector<std::string>> cells(1);
  for (const auto& column : columns) cells[0].emplace_back(column.title);
  rows.each_element([&](json::Value row) {
    auto& line = cells.emplace_back();
    for (const auto& column : columns) line.push_back(cell(member_of(row, column.member)));
  });
  if (cells.size() == 1) return "none\n";
  std::vector<std::size_t> widths(columns.size());
  for (const auto& line : cells) {
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], utf8_length(line[i]));
  }
  std::string out;
  for (const auto& line : cells) {
    for (std::size_t i = 0; i < line.size(); ++i) {
      const bool last = i + 1 == line.size();
      append_padded(out, line[i], last ? 0 : widths[i] + 2);
    }
    out += '\n';
  }
  return out;
}

std::string fields_of(json::Value object) {
  std::size_t width = 0;
  object.each_member([&](std::string_view name, json::Value) { width = std::max(width, utf8_length(name)); });
  std::string out;
  object.each_member([&](std::string_view name, json::Value value) {
    if (name == "object") return;
    append_padded(out, name, width + 2);
    out += plain(value) + "\n";
  });
  return out;
}

std::string dialogue_of(json::Value messages) {
  std::string out;
  messages.each_element([&](json::Value message) {
    if (!out.empty()) out += '\n';
    const auto status = text_member(message, "status");
    out += text_member(message, "role") + "  " + text_member(message, "created_at") + "  " +
           text_member(message, "id") + (status == "completed" ? "" : "  " + status) + "\n";
    const auto content = harmless(text_member(message, "content"));
    std::string_view rest = content;
    while (!rest.empty()) {
      const auto end = std::min(rest.find('\n'), rest.size());
      out += "  " + std::string(rest.substr(0, end)) + "\n";
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  });
  return out.empty() ? "none\n" : out;
}

std::string problem_text(int status, std::string_view body) {
  const auto document = json::Document::parse(body);
  const auto title = document ? text_member(document.value().root(), "title") : "";
  if (title.empty()) {
    return "sluice: the server answered " + std::to_string(status) + ", and not with a problem of ours\n";
  }
  const auto problem = document.value().root();
  std::string out = "sluice: " + harmless(title);
  const auto given_status = problem.find("status");
  out += " (" + std::to_string(given_status ? given_status->integer().value_or(status) : status) + ")\n";
  if (const auto detail = text_member(problem, "detail"); !detail.empty()) out += "  " + harmless(detail) + "\n";
  if (const auto place = text_member(problem, "instance"); status == 404 && !place.empty()) {
    out += "  asked for " + harmless(place) + "\n";
  }
  if (const auto errors = problem.find("errors")) {
    errors->each_element([&](json::Value error) {
      out += "  " + harmless(text_member(error, "pointer")) + ": " + harmless(text_member(error, "message")) + "\n";
    });
  }
  for (const auto* member : {"conflicting_resource_id", "request_id"}) {
    if (const auto value = text_member(problem, member); !value.empty()) {
      out += "  " + std::string(member) + " " + harmless(value) + "\n";
    }
  }
  return out;
}

namespace {

constexpr std::string_view margin = "            ";

void append_line(std::string& out, std::string_view title, std::string_view text) {
  if (text.empty()) return;
  auto line = std::string(title);
  line.resize(margin.size(), ' ');
  for (const char c : harmless(text)) {
    line += c;
    if (c == '\n') line += margin;
  }
  out += line + "\n";
}

std::string item_text(json::Value item) {
  std::string text = text_of(item, "kind");
  if (const auto alias = text_of(item, "alias"); !alias.empty()) text += " " + alias;
  if (const auto hosts = item.find("hosts"); hosts && hosts->size() > 0) {
    text += " for";
    hosts->each_element([&](json::Value host) { text += " " + plain(host); });
  }
  return text + ": " + text_of(item, "description");
}

}  // namespace

std::string approval_text(json::Value approval) {
  std::string out;
  append_line(out, "approval", text_of(approval, "id"));
  const auto status = text_of(approval, "status");
  append_line(out, "status", status == "pending" ? "pending until " + text_of(approval, "expires_at") : status);
  append_line(out, "reason", text_of(approval, "reason"));
  if (const auto items = approval.find("requested_items")) {
    items->each_element([&](json::Value item) { append_line(out, "asks for", item_text(item)); });
  }
  append_line(out, "decided by", text_of(approval, "resolved_by"));
  append_line(out, "note", text_of(approval, "note"));
  return out;
}

}  // namespace sluice::cli
