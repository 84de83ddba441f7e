#include "cli/requests.h"

#include "base/json.h"
#include "cli/cli.h"
#include "cli/console.h"
#include "cli/render.h"

namespace sluice::cli {

void report_error(Console& console, Form form, std::string_view what) {
  console.err("sluice: " + std::string(what) + "\n");
  if (form == Form::json) console.out(error_json(what) + "\n");
}

void report_problem(Console& console, Form form, int status, std::string_view body) {
  console.err(problem_text(status, body));
  if (form == Form::human) return;
  const bool is_json = bool(json::Document::parse(body));
  console.out((is_json ? std::string(body) : error_json("the server answered " + std::to_string(status))) + "\n");
}

bool refused(Context& context, const Result<client::Reply>& reply, int& code) {
  if (!reply) {
    report_error(context.console, context.form(), context.access.url + ": " + reply.error().what);
    code = exit_unknown;
    return true;
  }
  if (reply.value().status < 400) return false;
  report_problem(context.console, context.form(), reply.value().status, reply.value().body);
  code = exit_failed;
  return true;
}

std::string path_part(std::string_view id) {
  std::string out;
  for (const char c : id) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
    constexpr std::string_view digits = "0123456789ABCDEF";
    const auto byte = static_cast<unsigned char>(c);
    if (plain) {
      out += c;
    } else {
      out += {'%', digits[byte >> 4u], digits[byte & 15u]};
    }
  }
  return out;
}

int print_reply(Context& context, const Result<client::Reply>& reply, const Render& render) {
  int code = exit_ok;
  if (refused(context, reply, code)) return code;
  const auto& answer = reply.value().body;
  if (context.form() == Form::json) {
    if (!answer.empty()) context.console.out(answer + "\n");
    return exit_ok;
  }
  if (answer.empty()) {
    context.console.out("done\n");
    return exit_ok;
  }
  const auto document = json::Document::parse(answer);
  if (!document) {
    report_error(context.console, context.form(), "the answer is not JSON");
    return exit_unknown;
  }
  context.console.out(render(document.value().root()));
  return exit_ok;
}

int complain(Context& context, const std::string& what) {
  report_error(context.console, context.form(), what);
  return exit_usage;
}

int request(Context& context, As as, const std::string& method, const std::string& path, const std::string& body,
            const Render& render) {
  return print_reply(context, context.remote.request(as, method, path, body), render);
}

int show(Context& context, As as, const std::string& method, const std::string& path, const std::string& body) {
  return request(context, as, method, path, body, fields_of);
}

int list(Context& context, As as, std::string path, const Filters& filters, const Render& render_rows) {
  char separator = '?';
  const auto add = [&](std::string_view name, std::string_view flag) {
    if (!context.arguments.has(flag)) return;
    path += separator + std::string(name) + "=" + path_part(context.arguments.flag(flag));
    separator = '&';
  };
  add("limit", "--limit");
  add("starting_after", "--after");
  for (const auto& [name, flag] : filters) add(name, flag);
  return request(context, as, "GET", path, "", [&](json::Value root) {
    const auto cursor = root.find("next_cursor");
    if (cursor && cursor->string()) context.console.err("There is more: --after " + harmless(*cursor->string()) + "\n");
    return render_rows(root.find("data").value_or(json::Value()));
  });
}

int list_table(Context& context, As as, std::string path, std::span<const Column> columns, const Filters& filters) {
  return list(context, as, std::move(path), filters, [columns](json::Value rows) { return table_of(rows, columns); });
}

std::string object_with(std::string_view name, std::string_view value) {
  std::string body;
  json::Writer(body).begin_object().key(name).string(value).end_object();
  return body;
}

}  // namespace sluice::cli
