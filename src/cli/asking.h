// What commands about records have in common: ask, then print what came as a table, as fields, or as
// the JSON it was.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "cli/commands.h"
#include "cli/render.h"

namespace sluice::cli {

// An id goes into a path: anything else in it would be another path.
std::string path_part(std::string_view id);
// {"name":"value"}
std::string object_with(std::string_view name, std::string_view value);

using Render = std::function<std::string(json::Value)>;
using Filters = std::vector<std::pair<std::string_view, std::string_view>>;  // parameter and flag

// Says what is wrong with the command as it was given. Gives the exit code.
int complain(Context& context, const std::string& what);
// Prints an answer, or why there is none. Gives the exit code.
int tell(Context& context, const Result<client::Reply>& reply, const Render& render);
int ask(Context& context, As as, const std::string& method, const std::string& path, const std::string& body,
        const Render& render);
int show(Context& context, As as, const std::string& method, const std::string& path, const std::string& body = "");
int list(Context& context, As as, std::string path, const Filters& filters, const Render& render_rows);
int list_table(Context& context, As as, std::string path, std::span<const Column> columns, const Filters& filters = {});

}  // namespace sluice::cli
