#include "engine/client_history.h"

#include <algorithm>

#include "base/check.h"
#include "base/limits.h"

namespace sluice::engine {
namespace {

// A content is a text, or a list of parts. What is no text is named: clients repeat their history with each message, so
// that a picture in it is no reason to refuse them, but the model must not think that nothing was there.
std::string text_of(json::Value message) {
  const auto content = message.find("content");
  if (!content) return {};
  if (const auto text = content->string()) return std::string(*text);
  std::string out;
  content->each_element([&](json::Value part) {
    const auto text = part.find("text");
    const auto type = part.find("type");
    const auto kind = type ? type->string().value_or("") : "";
    const bool is_medium =
        kind == "image" || kind == "audio" || kind == "video" || kind == "document" || kind == "binary";
    if (!is_medium && (!text || !text->string())) return;
    if (!out.empty()) out += '\n';
    out += is_medium ? "[" + std::string(kind) + ", which cannot be shown here]" : std::string(*text->string());
  });
  return out;
}

}  // namespace

std::vector<dispatch::HistoryTurn> client_history(std::string_view messages, std::size_t count_max) {
  std::vector<dispatch::HistoryTurn> turns;
  const auto document = json::Document::parse(messages);
  if (!document) return turns;
  document.value().root().each_element([&](json::Value message) {
    const auto name = message.find("role");
    const auto role = name ? model::role_named(name->string().value_or("")) : std::nullopt;
    if (role == model::Role::user || role == model::Role::assistant) turns.push_back({*role, text_of(message)});
  });
  while (!turns.empty() && turns.back().role != model::Role::user) turns.pop_back();
  if (!turns.empty()) turns.pop_back();
  std::erase_if(turns, [](const dispatch::HistoryTurn& turn) { return turn.content.empty(); });

  std::size_t bytes = 0;
  std::size_t count = 0;
  while (count < std::min(count_max, turns.size())) {
    bytes += turns[turns.size() - count - 1].content.size();
    if (bytes > limits::history_bytes_max) break;
    ++count;
  }
  turns.erase(turns.begin(), turns.end() - static_cast<std::ptrdiff_t>(count));
  SLUICE_CHECK(turns.size() <= count_max);
  return turns;
}

}  // namespace sluice::engine
