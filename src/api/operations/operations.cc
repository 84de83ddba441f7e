#include "api/answers/assets.h"
#include "api/handlers.h"

#include <algorithm>

#include "api/request/request_context.h"

namespace sluice::api::operations {
namespace {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

void answer_page(const RequestPtr& request, std::string_view title, std::string_view body_html) {
  const std::string heading = escaped(title);
  std::string page = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>" + heading +
                     (heading == "Sluice" ? "" : " · Sluice") +
                     "</title><style>body{font:16px/1.5 system-ui,sans-serif;max-width:44rem;"
                     "margin:3rem auto;padding:0 1rem}code{font-size:.95em}td{padding:.2rem 1rem .2rem 0}"
                     "</style><h1>" +
                     heading + "</h1>";
  page.append(body_html).append("</html>\n");
  request->answer(200, "text/html; charset=utf-8", std::move(page),
                  {{"Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'"},
                   {"X-Content-Type-Options", "nosniff"}});
}

}  // namespace

void list_problems(const RequestPtr& request) {
  std::string body = "<p>Every problem this server can tell.</p><table>";
  for (const auto& entry : model::problem_registry()) {
    const std::string name = escaped(entry.name);
    body += "<tr><td>" + std::to_string(entry.status) + "<td><a href=\"/problems/" + name + "\"><code>" + name +
            "</code></a><td>" + escaped(entry.title);
  }
  answer_page(request, "Problems", body + "</table>");
}

void get_problem(const RequestPtr& request) {
  const auto registry = model::problem_registry();
  const auto entry = std::ranges::find(registry, request->path_param(0), &model::SlugEntry::name);
  if (entry == registry.end()) return request->not_found();
  answer_page(request, entry->title,
              "<p><code>" + escaped(entry->name) + "</code>, HTTP status " + std::to_string(entry->status) +
                  "</p><h2>What to do</h2><p>" + escaped(entry->remedy) +
                  "</p><p><a href=\"/problems\">All problems</a></p>");
}

void get_home(const RequestPtr& request) {
  answer_page(request, "Sluice",
              "<p>Version " + escaped(request->services().options.version) +
                  ". This server runs AI agents and streams what they do.</p><ul>"
                  "<li><a href=\"/console\">The console</a>, for people"
                  "<li><a href=\"/docs\">The API</a>, and <a href=\"/openapi.yaml\">its description</a> (OpenAPI 3.1)"
                  "<li><a href=\"/problems\">Problems</a> and what to do about them"
                  "<li><a href=\"/healthz\">Health</a>, <a href=\"/readyz\">readiness</a></ul>");
}

void get_health(const RequestPtr& request) { request->answer_json(200, R"({"status":"ok"})"); }

void get_readiness(const RequestPtr& request) {
  std::string_view why;
  if (request->services().draining) why = "The server is about to stop.";
  // An empty write to a disk that is full succeeds, so it is not asked for what is known.
  if (request->store().broken()) {
    why = "The store cannot be written to.";
  } else if (!request->engine().reaches_store()) {
    why = "The store does not answer.";
  }
  if (why.empty()) return request->answer_json(200, R"({"status":"ready"})");
  request->problem(
      model::Problem{.slug = model::Slug::unavailable, .detail = std::string(why), .retry_after_seconds = 1});
}

void get_metrics(const RequestPtr& request) {
  request->answer(200, "text/plain; version=0.0.4; charset=utf-8", request->services().needs.metrics.to_text());
}

void get_openapi(const RequestPtr& request) {
  request->answer_shared("application/yaml", request->services().documents.openapi);
}

void get_docs(const RequestPtr& request) {
  const auto* page = request->services().documents.reference.find("index.html");
  const auto* policy = request->services().documents.reference.find("policy");
  SLUICE_CHECK(page != nullptr && policy != nullptr);
  answer_asset(request, *page,
               {{"Cache-Control", "no-cache"},
                {"Content-Security-Policy", *policy->plain},
                {"X-Content-Type-Options", "nosniff"},
                {"Referrer-Policy", "no-referrer"}});
}

}  // namespace sluice::api::operations
