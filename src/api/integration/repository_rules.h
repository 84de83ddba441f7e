// What may stand in a repository's record. All of it ends up in the arguments of git, which reads a
// leading dash as an option and some URLs as commands.
#pragma once

#include <string_view>

namespace sluice::api::integration {

// What is wrong, in words; empty when nothing is.
std::string_view fault_of_repository_url(std::string_view url);
std::string_view fault_of_ref(std::string_view ref);
std::string_view fault_of_credential_alias(std::string_view alias);

}  // namespace sluice::api::integration
