// One line of a program that speaks JSON, and its members without ceremony: what is missing or of another kind is
// empty. What is returned points into the line's Document.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"

namespace sluice::harness {

// As json::Document::parse(); but half of a surrogate pair, which JavaScript writes where it cut a text, is read as
// U+FFFD instead of being refused: the rest of the line may end a call or the run.
Result<json::Document> parse_line(std::string_view line);

json::Value value_in(json::Value object, std::string_view name);
std::string_view text_in(json::Value object, std::string_view name);
// 0 also for what is negative, or more than anybody counts.
int64_t count_in(json::Value object, std::string_view name);
bool is_true_in(json::Value object, std::string_view name);
// As JSON; "{}" for what is no object.
std::string object_in(json::Value object, std::string_view name);

// For a JSON string: bytes of what is no UTF-8 become question marks.
std::string as_utf8(std::string_view text);

}  // namespace sluice::harness
