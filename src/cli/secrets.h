// Commands that store, list and destroy secrets, and the values of secrets: from a file, from standard input or typed
// at the terminal, never from the command line, where the process list and the shell's history would have them.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/console.h"

namespace sluice::cli {

using Secrets = std::map<std::string, std::string>;  // alias to value

struct SecretSource {
  std::string alias;
  std::string from;  // "@FILE", "-", or empty: to be asked for
};

// ALIAS, ALIAS=@FILE or ALIAS=-. Errors repeat no part of the text, because it may be a secret.
Result<std::vector<SecretSource>> parse_secret_flags(const std::vector<std::string>& flags);

// One newline at the end is not part of a value.
Result<std::string> read_secret(Console& console, const SecretSource& source);

}  // namespace sluice::cli
