// Files that come into a bag: looked at whole, kept all or none.
#pragma once

#include <optional>
#include <vector>

#include "api/request/request_context.h"

namespace sluice::api {

// Past it the socket is not read. What the configuration allows is less.
inline constexpr std::size_t bag_request_bytes_max = 512 * 1024 * 1024;
inline constexpr std::size_t bag_request_files_max = 50;

struct BagPlace {
  std::optional<model::ConversationId> chat;
  std::optional<model::RunId> run;  // whose sandbox sends them
  model::FileSource source = model::FileSource::upload;
};

using BagFiles = std::vector<model::BagFile>;

// `then` is called when they are kept; otherwise the caller has been told.
void take_files(const RequestPtr& request, BagPlace place, Callback<void(const BagFiles&)> then);

// For the audit chain, as JSON.
std::string audit_detail_of(const model::BagFile& file);

// A name of one part that is safe to show and to write; empty when nothing is left of it, or too much.
std::string clean_file_name(std::string_view given);

}  // namespace sluice::api
