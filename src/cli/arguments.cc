#include "cli/arguments.h"

#include <algorithm>

#include "base/bytes.h"

namespace sluice::cli {
namespace {

Error unknown_flag(const std::string& name, std::span<const Flag> known) {
  std::vector<std::string_view> names;
  for (const auto& flag : known) names.push_back(flag.name);
  const auto meant = nearest(name, names);
  return {ErrorKind::invalid, "unknown flag " + name + (meant ? "; did you mean " + std::string(*meant) + "?" : "")};
}

}  // namespace

Result<Arguments> Arguments::parse(std::span<const std::string> words, std::span<const Flag> known) {
  Arguments out;
  bool only_operands = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto& word = words[i];
    if (only_operands || !word.starts_with("-") || word == "-") {
      out.operands_.push_back(word);
      continue;
    }
    if (word == "--") {
      only_operands = true;
      continue;
    }
    const auto equals = word.find('=');
    const auto name = word == "-h" ? "--help" : word.substr(0, equals);
    const auto flag = std::ranges::find_if(known, [&](const Flag& f) { return f.name == name; });
    if (flag == known.end()) return unknown_flag(name, known);
    if (flag->value.empty()) {
      if (equals != std::string::npos) return Error{ErrorKind::invalid, "flag " + name + " takes no value"};
      out.flags_[name];
    } else if (equals != std::string::npos) {
      out.flags_[name].push_back(word.substr(equals + 1));
    } else if (i + 1 < words.size()) {
      out.flags_[name].push_back(words[++i]);
    } else {
      return Error{ErrorKind::invalid, "flag " + name + " needs a value: " + name + " " + std::string(flag->value)};
    }
  }
  return out;
}

std::string Arguments::flag(std::string_view name) const {
  const auto given = all(name);
  return given.empty() ? "" : given.back();
}

std::vector<std::string> Arguments::all(std::string_view name) const {
  const auto found = flags_.find(std::string(name));
  return found == flags_.end() ? std::vector<std::string>{} : found->second;
}

}  // namespace sluice::cli
