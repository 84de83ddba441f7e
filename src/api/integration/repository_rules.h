// The permitted values of a repository's record. They become arguments of git, which reads a leading dash as an option
// and some URLs as commands.
#pragma once

#include <string_view>

namespace sluice::api::integration {

// Each returns the reason why the value is invalid; empty if it is valid.
std::string_view fault_of_repository_url(std::string_view url);
std::string_view fault_of_ref(std::string_view ref);
std::string_view fault_of_credential_alias(std::string_view alias);

}  // namespace sluice::api::integration
