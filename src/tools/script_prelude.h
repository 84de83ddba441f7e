// What a script of run_script runs on: the program that takes it, in its own language.
//
// It speaks with this side in lines of JSON, over descriptors 3 (in) and 4 (out), so that what the script and its
// children print, wherever they print it, cannot be mistaken for a word of its own; and in one order, so that what was
// printed before a call is reported before it.
//
//   in    {"code":…,"functions":{"external_NAME":"NAME"},"memory_bytes":N}   the first line
//         {"id":N,"text":…,"failed":true|false}                               the answer of a call
//   out   {"console":{"level":"log"|"info"|"warn"|"error","message":…}}
//         {"call":{"id":N,"name":…,"args":{…}}}
//         {"result":…} or {"error":{"name":…,"message":…,"stack":…}}         the last line
#pragma once

#include <string_view>

namespace sluice::tools {

extern const std::string_view javascript_prelude;
extern const std::string_view python_prelude;

}  // namespace sluice::tools
