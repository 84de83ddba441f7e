#include "api/agui/named_run.h"

#include <algorithm>
#include <charconv>

#include "api/answers/streaming.h"
#include "base/limits.h"

namespace sluice::api::agui {

Seen read_seen(std::string_view id, std::string_view run_id, std::string_view name, Findings& findings) {
  if (id == "-1") return {.is_named = true};
  Seen out{.is_named = true};
  const bool is_of_run = id.size() > run_id.size() + 1 && id.starts_with(run_id) && id[run_id.size()] == '-';
  const auto number = is_of_run ? id.substr(run_id.size() + 1) : std::string_view();
  const auto [end, failed] = std::from_chars(number.data(), number.data() + number.size(), out.after);
  if (number.empty() || failed != std::errc() || end != number.data() + number.size() || out.after < 0) {
    findings.refuse(std::string(name), "must be the id of a frame of this run, as its stream gave it");
  }
  return out;
}

void with_named_run(const RequestPtr& request, std::string thread_id, std::string run_id,
                    Callback<void(const journal::AguiRun&)> then) {
  auto found = [request, then = std::move(then)](const Result<journal::AguiRun>& named) mutable {
    if (named) return then(named.value());
    if (named.error().kind != ErrorKind::not_found) return request->fail(named.error());
    request->problem(model::Slug::not_found, "There is no AG-UI run of that name.");
  };
  const auto tenant = request->tenant().id;
  if (thread_id.empty()) return store::agui_run_named(request->database(), tenant, std::move(run_id), std::move(found));
  store::agui_run(request->database(), tenant, std::move(thread_id), std::move(run_id), std::move(found));
}

void stream_named(const RequestPtr& request, const journal::AguiRun& named, wire::Format format, int64_t after) {
  store::run(request->database(), request->tenant().id, named.run,
             [request, format, after, segment = named.segment](const Result<model::Run>& run) {
               if (!run) return request->fail(run.error());
               open_stream(request, {.run = run.value(), .format = format, .after = after, .segment = segment});
             });
}

namespace {

constexpr std::string_view no_such_agent = "This tenant has no agent of that id or name.";

void look_for_agent(const RequestPtr& request, std::string name, std::optional<model::AgentId> after,
                    Callback<void(std::optional<model::AgentId>)> then) {
  const store::PageQuery<model::AgentId> query{.limit = limits::page_max, .starting_after = after};
  store::agents(
      request->database(), request->tenant().id, query,
      [request, name = std::move(name), then = std::move(then)](const Result<store::Page<model::Agent>>& page) mutable {
        if (!page) return request->fail(page.error());
        const auto& rows = page.value().rows;
        const auto found = std::ranges::find(rows, name, &model::Agent::name);
        if (found != rows.end()) return then(found->id);
        if (!page.value().has_more) return request->problem(model::Slug::not_found, no_such_agent);
        look_for_agent(request, std::move(name), rows.back().id, std::move(then));
      });
}

}  // namespace

void with_agent_of_path(const RequestPtr& request, Callback<void(std::optional<model::AgentId>)> then) {
  const auto given = request->path_param(0);
  if (given.empty()) return then(std::nullopt);
  const auto name = net::percent_decode(given);
  if (!name) return request->problem(model::Slug::not_found, no_such_agent);
  const auto id = model::AgentId::parse(*name);
  if (!id) return look_for_agent(request, *name, std::nullopt, std::move(then));
  store::agent(request->database(), request->tenant().id, *id,
               [request, then = std::move(then)](const Result<model::Agent>& agent) mutable {
                 if (!agent) return request->fail(agent.error());
                 then(agent.value().id);
               });
}

}  // namespace sluice::api::agui
