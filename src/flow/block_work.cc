#include "flow/block_work.h"

#include <charconv>
#include <cmath>

#include "base/limits.h"
#include "base/utf8.h"

namespace sluice::flow {
namespace {

std::optional<double> number_of(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return std::nullopt;
  text = text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
  double value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

Result<bool> compare_numbers(const std::string& left, const std::string& right, Comparison comparison) {
  constexpr std::size_t shown_max = 80;
  const auto a = number_of(left);
  const auto b = number_of(right);
  if (a && b) return comparison == Comparison::lt ? *a < *b : *a > *b;
  return Error{ErrorKind::invalid,
               "lt and gt compare numbers, and \"" + (a ? right : left).substr(0, shown_max) + "\" is none"};
}

}  // namespace

Result<bool> holds(const ConditionBlock& condition, const Task& task) {
  const auto left = task.words(condition.left, limits::message_content_bytes_max);
  if (!left) return left.error();
  const auto right = task.words(condition.right, limits::message_content_bytes_max);
  if (!right) return right.error();
  const auto& a = left.value();
  const auto& b = right.value();
  switch (condition.comparison) {
    case Comparison::eq: return a == b;
    case Comparison::ne: return a != b;
    case Comparison::contains: return a.find(b) != std::string::npos;
    case Comparison::starts_with: return a.starts_with(b);
    case Comparison::is_empty: return a.find_first_not_of(" \t\r\n") == std::string::npos;
    case Comparison::lt:
    case Comparison::gt: return compare_numbers(a, b, condition.comparison);
  }
  return false;
}

model::BlockOutputs outputs_of(std::string text) {
  model::BlockOutputs outputs;
  if (text.size() > limits::block_output_bytes_max) {
    text.resize(utf8_prefix_size(text, limits::block_output_bytes_max));
    text += "\n[cut here: a block hands on at most " + std::to_string(limits::block_output_bytes_max) + " bytes]";
  } else if (const auto first = text.find_first_not_of(" \t\r\n");
             first != std::string::npos && (text[first] == '{' || text[first] == '[')) {
    if (const auto document = json::Document::parse(text)) outputs.json = document.value().root().to_text();
  }
  outputs.response = std::move(text);
  return outputs;
}

}  // namespace sluice::flow
