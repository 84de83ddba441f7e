#include "runner/base_url.h"

#include "runner/runner.h"

namespace sluice::runner {

bool is_agent_base_url_rule(std::string_view url) { return net::is_url_rule(url); }

}  // namespace sluice::runner
