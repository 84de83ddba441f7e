// Files that a runner returns: all of them are checked before the token is spent, and either all are stored or none
// (S-12).
#include "api/executions/redemption.h"
#include "api/handlers.h"
#include "api/request/reading.h"
#include "api/request/waiting.h"
#include "http/multipart.h"
#include "workspace/workspace.h"

namespace sluice::api::executions {
namespace {

using Files = std::vector<workspace::Asset>;
using Kept = std::vector<model::RunFile>;

// The files with their final names. Empty: one is invalid, and the request has been answered.
std::optional<Files> read_files(const RequestPtr& request) {
  const auto parts = http::read_multipart(request->header("Content-Type").value_or(""), request->http().body, {});
  if (!parts) {
    request->problem(model::Slug::malformed_request, "The body cannot be read: " + parts.error().what + ".");
    return std::nullopt;
  }
  Findings findings;
  Files given;
  int result_count = 0;
  for (const auto& part : parts.value()) {
    if (part.name == "files" || part.name == "files[]") {
      if (!part.filename || part.filename->empty()) findings.refuse("/files", "each file needs a filename");
      given.push_back({part.filename.value_or(""), std::string(part.bytes)});
    } else if (part.name == "result") {
      const auto result = json::Document::parse(part.bytes);
      if (!result) findings.refuse("/result", "is not JSON: " + result.error().what);
      if (++result_count > 1) findings.refuse("/result", "must be given once");
    } else {
      findings.refuse("/" + part.name, "is no part of this form: there are files and result");
    }
  }
  auto admitted = workspace::admit_assets(std::move(given), {});
  for (auto& why : admitted.left_out) findings.refuse("/files", std::move(why));
  if (refused(request, findings)) return std::nullopt;
  return std::move(admitted.files);
}

Result<Kept> keep(const Files& files, files::Contents& contents) {
  Kept kept;
  for (const auto& [name, bytes] : files) {
    auto sha256 = contents.put(bytes);
    if (!sha256) return sha256.error();
    kept.push_back(
        {.name = name, .size_bytes = static_cast<int64_t>(bytes.size()), .sha256 = std::move(sha256).take()});
  }
  return kept;
}

void answer_kept(const RequestPtr& request, const Kept& files) {
  std::string body;
  json::Writer writer(body);
  writer.begin_object().key("files").begin_array();
  for (const auto& file : files) {
    writer.begin_object().key("id").string(file.id.text()).key("name").string(file.name);
    writer.key("size").integer(file.size_bytes).key("sha256").string(file.sha256).end_object();
  }
  writer.end_array().end_object();
  request->answer_json(200, std::move(body));
}

void record(const RequestPtr& request, const model::Execution& execution, Kept files) {
  for (auto& file : files) {
    file.id = request->ids().make<model::FileId>();
    file.tenant_id = execution.tenant_id;
    file.run_id = execution.run_id;
    file.execution_id = execution.id;
    file.created_at = request->now();
  }
  store::create_files(request->database(), files, [request, files](const Result<Unit>& made) {
    if (!made) return refuse(request, made.error());  // the run was cancelled since the token was redeemed
    answer_kept(request, files);
  });
}

}  // namespace

void take_results(const RequestPtr& request) {
  if (!has_token(request)) return;
  if (!http::is_multipart(request->header("Content-Type").value_or("")) || request->header("Content-Encoding")) {
    return request->problem(model::Slug::unsupported_media_type, "The body must be multipart/form-data.");
  }
  auto files = read_files(request);
  if (!files) return;
  redeem(request, [request, files = std::move(*files)](model::Execution execution) mutable {
    auto& contents = request->services().needs.contents;
    const auto tenant = execution.tenant_id;
    on_worker<Kept>(
        request, tenant, [files = std::move(files), &contents] { return keep(files, contents); },
        [request, execution = std::move(execution)](Result<Kept> kept) {
          if (!kept) return request->fail(kept.error());
          record(request, execution, std::move(kept).take());
        });
  });
}

}  // namespace sluice::api::executions
