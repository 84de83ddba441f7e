// Bundles of skills on their way in: as a gzipped tar, or as files in JSON.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "api/routes.h"
#include "files/files.h"
#include "model/model.h"
#include "net/net.h"
#include "workspace/workspace.h"

namespace sluice::api::integration {

using GivenBundle = std::variant<net::Body, std::vector<workspace::BundleFile>>;  // packed, or file by file

// Empty when there was none and the caller has been told so.
std::optional<GivenBundle> read_given_bundle(const Asked& asked);

// Reads it all, packs it in the one way there is, and keeps the bytes. Blocks. `invalid` says what is
// wrong, for whoever sent it; then nothing is kept. What the skill still lacks is id, tenant and times.
Result<model::Skill> keep_bundle(const GivenBundle& given, files::Contents& contents);

}  // namespace sluice::api::integration
