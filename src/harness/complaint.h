// The failure of a run that a program's complaint stands for, in the classes that failures of models have. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "harness/harness.h"

namespace sluice::harness {

// `http_status`: what the model's provider answered, if the program knows.
model::Slug slug_of_complaint(std::optional<int64_t> http_status, std::string_view words);

// For a person and for JSON: without the escape sequences of a terminal and bytes that are no text.
std::string plain_words(std::string_view words);

Heard failed_as(model::Slug slug, std::string text);
Heard warned(std::string text);

// The calls that a dialect remembers, so that each is reported once. More than any turn makes; the bound keeps a broken
// program from filling our memory.
inline constexpr std::size_t calls_max = 10'000;
// The program's calls became more than that.
Heard too_many_calls();

// The program ended, and its turn had not.
Heard ended_early(bool had_begun, std::string_view exit_words, std::string_view stderr_tail);

}  // namespace sluice::harness
