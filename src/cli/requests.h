// The common part of commands about records: send a request, then print the reply as a table, as fields, or as its
// JSON. Functions print what is wrong and return the exit code of the command.
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

// Escapes an id for a path, so that it cannot lead to another path.
std::string path_part(std::string_view id);
// {"name":"value"}
std::string object_with(std::string_view name, std::string_view value);

using Render = std::function<std::string(json::Value)>;
using Filters = std::vector<std::pair<std::string_view, std::string_view>>;  // parameter and flag

// Reports wrong usage of a command. Returns the exit code.
int complain(Context& context, const std::string& what);
// Prints a reply, or why there is none. Returns the exit code.
int print_reply(Context& context, const Result<client::Reply>& reply, const Render& render);
int request(Context& context, As as, const std::string& method, const std::string& path, const std::string& body,
            const Render& render);
int show(Context& context, As as, const std::string& method, const std::string& path, const std::string& body = "");
int list(Context& context, As as, std::string path, const Filters& filters, const Render& render_rows);
int list_table(Context& context, As as, std::string path, std::span<const Column> columns, const Filters& filters = {});

}  // namespace sluice::cli
