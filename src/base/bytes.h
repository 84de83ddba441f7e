// Bytes as text and text as bytes: hex, base64url, UTF-8, edit distance.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace sluice {

// Bytes encoded once and shared by everyone who sends them: the readers of one run.
using SharedBytes = std::shared_ptr<const std::string>;

std::string to_hex(std::string_view bytes);

// RFC 4648 §5, no padding.
std::string to_base64url(std::string_view bytes);
// Empty for anything that to_base64url() would not have written: padding, other alphabets, loose bits.
std::optional<std::string> from_base64url(std::string_view text);

bool is_utf8(std::string_view text);
// Code points in valid UTF-8.
std::size_t utf8_length(std::string_view text);

// The candidate nearest to `word`, if it is near enough to be what was meant.
std::optional<std::string_view> nearest(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace sluice
