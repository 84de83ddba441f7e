#include <strings.h>

#include "api/answers/downloads.h"
#include "api/answers/pages.h"
#include "api/handlers.h"
#include "api/request/reading.h"
#include "api/request/request_context.h"
#include "api/request/waiting.h"
#include "base/bytes.h"
#include "workspace/workspace.h"

namespace sluice::api::integration {
namespace {

// A skill as a client sends it: packed, or file by file.
using GivenBundle = std::variant<net::Body, std::vector<workspace::BundleFile>>;

constexpr std::string_view bundle_names[] = {"files"};
constexpr std::string_view file_names[] = {"path", "content", "content_base64", "executable"};
constexpr std::string_view gzip_types[] = {"application/gzip", "application/x-gzip", "application/x-tar+gzip",
                                           "application/x-gtar"};

constexpr workspace::BundleLimits bundle_limits;

bool is_gzip_type(std::string_view type) {
  type = type.substr(0, type.find(';'));
  while (type.ends_with(' ') || type.ends_with('\t')) type.remove_suffix(1);
  for (const auto known : gzip_types) {
    if (type.size() == known.size() && strncasecmp(type.data(), known.data(), known.size()) == 0) return true;
  }
  return false;
}

// With or without padding.
std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 == 0 && text.ends_with('=')) text.remove_suffix(text.ends_with("==") ? 2 : 1);
  std::string url(text);
  for (char& c : url) {
    if (c == '-' || c == '_') return std::nullopt;
    if (c == '+') c = '-';
    if (c == '/') c = '_';
  }
  return from_base64url(url);
}

workspace::BundleFile read_file(json::Value value, std::string at, Findings& findings) {
  workspace::BundleFile out;
  const Fields fields(value, std::move(at), file_names, findings);
  constexpr TextRule anything{.chars_max = limits::skill_request_bytes_max};
  fields.require("path");
  out.path = fields.text("path", {.chars_min = 1, .chars_max = bundle_limits.path_bytes_max}).value_or("");
  out.executable = fields.boolean("executable").value_or(false);
  if (fields.given("content") == fields.given("content_base64")) {
    fields.refuse("content", "or content_base64 is required, and not both");
    return out;
  }
  if (auto text = fields.text("content", anything, Null::refused)) out.bytes = std::move(*text);
  if (const auto text = fields.text("content_base64", anything, Null::refused)) {
    auto bytes = from_base64(*text);
    if (!bytes) fields.refuse("content_base64", "is not base64");
    out.bytes = std::move(bytes).value_or("");
  }
  return out;
}

std::optional<GivenBundle> read_files(const RequestPtr& request) {
  const auto body = read_body(request);
  if (!body) return std::nullopt;
  Findings findings;
  const Fields fields(body->root(), "", bundle_names, findings);
  std::vector<workspace::BundleFile> files;
  const auto list = body->root().find("files");
  if (!list || list->kind() != json::Kind::array || list->size() == 0) {
    findings.refuse("/files", "must be an array of files, one at least");
  } else if (list->size() > static_cast<std::size_t>(bundle_limits.files_max)) {
    findings.refuse("/files", "must have at most " + std::to_string(bundle_limits.files_max) + " files");
  } else {
    list->each_element([&](json::Value file) {
      files.push_back(read_file(file, "/files/" + std::to_string(files.size()), findings));
    });
  }
  if (refused(request, findings)) return std::nullopt;
  return files;
}

// Empty: the bundle is invalid or missing, and the request has been answered.
std::optional<GivenBundle> read_given_bundle(const RequestPtr& request) {
  if (!is_gzip_type(request->header("Content-Type").value_or(""))) return read_files(request);
  if (request->header("Content-Encoding")) {
    request->problem(model::Slug::unsupported_media_type,
                     "The bundle must be sent as it is, without a Content-Encoding.");
    return std::nullopt;
  }
  return request->http().body;
}

// Reads the bundle, packs it in its normal form and stores the bytes. Blocks. The error `invalid` says what is wrong
// with the bundle; then nothing is stored. The skill still lacks its id, tenant and times.
Result<model::Skill> keep_bundle(const GivenBundle& given, files::Contents& contents) {
  std::vector<workspace::BundleFile> files;
  if (const auto* packed = std::get_if<net::Body>(&given)) {
    auto read = workspace::read_bundle(*packed, bundle_limits);
    if (!read) return read.error();
    files = std::move(read).take();
  } else {
    files = std::get<std::vector<workspace::BundleFile>>(given);
  }
  const auto head = workspace::read_skill_head(files);
  if (!head) return head.error();
  model::Skill skill{.name = head.value().name, .description = head.value().description};
  skill.file_count = static_cast<int64_t>(files.size());
  const auto packed = workspace::pack_bundle(std::move(files), bundle_limits);
  if (!packed) return packed.error();
  skill.size_bytes = static_cast<int64_t>(packed.value().size());
  auto sha256 = contents.put(packed.value());
  if (!sha256) return sha256.error();
  skill.sha256 = std::move(sha256).take();
  return skill;
}

void refuse_bundle(const RequestPtr& request, const Error& error) {
  if (error.kind != ErrorKind::invalid) return request->fail(error);
  request->invalid("/files", error.what);
}

void answer_put(const RequestPtr& request, model::SkillId made, const model::Skill& skill) {
  if (skill.id != made) return request->answer_json(200, model::to_json(skill));
  request->created("/v1/skills/" + skill.id.text(), model::to_json(skill));
}

void put(const RequestPtr& request, model::Skill skill) {
  skill.id = request->ids().make<model::SkillId>();
  skill.tenant_id = request->tenant().id;
  skill.created_at = skill.updated_at = request->now();
  store::put_skill(request->database(), skill, [request, id = skill.id](const Result<model::Skill>& kept) {
    if (!kept) return request->fail(kept.error());
    answer_put(request, id, kept.value());
  });
}

// With the bundle kept, if it is a good one.
void with_bundle(const RequestPtr& request, Callback<void(model::Skill)> then) {
  auto given = read_given_bundle(request);
  if (!given) return;
  auto& contents = request->services().needs.contents;
  on_worker<model::Skill>(
      request, request->tenant().id, [given = std::move(*given), &contents] { return keep_bundle(given, contents); },
      [request, then = std::move(then)](Result<model::Skill> skill) mutable {
        if (!skill) return refuse_bundle(request, skill.error());
        then(std::move(skill).take());
      });
}

}  // namespace

void list_skills(const RequestPtr& request) { list_rows<model::Skill>(request, &store::skills); }
void get_skill(const RequestPtr& request) { get_row<model::Skill>(request, &store::skill); }

void create_skill(const RequestPtr& request) {
  with_bundle(request, [request](model::Skill skill) { put(request, std::move(skill)); });
}

// The name is that of the bundle, so a bundle of another name would be another skill.
void replace_skill(const RequestPtr& request) {
  with_row<model::Skill>(request, &store::skill, [request](const model::Skill& former) {
    with_bundle(request, [request, name = former.name](model::Skill skill) {
      if (skill.name == name) return put(request, std::move(skill));
      request->invalid("/files", "SKILL.md names another skill: " + skill.name + ", not " + name);
    });
  });
}

void delete_skill(const RequestPtr& request) {
  delete_row<model::Skill>(request, &store::delete_skill, "An agent names this skill.");
}

void get_skill_bundle(const RequestPtr& request) {
  with_row<model::Skill>(request, &store::skill, [request](const model::Skill& skill) { send_bundle(request, skill); });
}

}  // namespace sluice::api::integration
