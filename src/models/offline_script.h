// One line of the offline model's mini-language (docs/offline-model.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "models/models.h"

namespace sluice::models {

struct SayLine {
  std::string text;
};  // `{{last}}` not yet replaced
struct PutLine {
  std::string text;
};
struct ThinkLine {
  std::string text;
};
struct CallLine {
  ToolCall call;
};  // id not yet given
struct TokensLine {
  int64_t count;
  int64_t per_second;  // 0: at once
};
struct SleepLine {
  int64_t ms;
};
struct FailLine {
  int status;
  std::string what;
};
struct CutLine {};
struct HangLine {};
struct EchoLine {
  std::string text;
};  // anything else: "You said: …"

using ScriptLine =
    std::variant<SayLine, PutLine, ThinkLine, CallLine, TokensLine, SleepLine, FailLine, CutLine, HangLine, EchoLine>;

bool is_blank(std::string_view line);

// `line` is not blank and has no line break in it.
ScriptLine parse_script_line(std::string_view line);

}  // namespace sluice::models
