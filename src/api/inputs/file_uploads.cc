#include "api/inputs/file_uploads.h"

#include "api/request/audit.h"
#include "api/request/reading.h"
#include "api/request/waiting.h"
#include "http/multipart.h"
#include "workspace/workspace.h"

namespace sluice::api {
namespace {

constexpr std::size_t name_bytes_max = 255;  // of a file's name on Linux

// The result of reading a body on a worker thread.
struct Reading {
  std::string malformed;  // reason why the body is invalid; empty if it is valid
  Findings findings;
  BagFiles files;
};

std::string megabytes(int64_t bytes) {
  if (bytes < 1'000'000) return std::to_string(bytes) + " bytes";
  return std::to_string(bytes / 1'000'000) + " MB";
}

std::optional<model::BagFile> look_at(const http::Part& part, const std::vector<std::string>& extensions,
                                      Findings& findings) {
  if (part.name != "files" && part.name != "files[]") {
    findings.refuse("/" + part.name, "is no part of this form: there are files");
    return std::nullopt;
  }
  const auto name = clean_file_name(part.filename.value_or(""));
  if (name.empty()) {
    findings.refuse("/files", "each file needs a filename of at most 255 bytes");
    return std::nullopt;
  }
  if (!workspace::has_extension_of(name, extensions)) {
    findings.refuse("/files", name + " has an extension that is not allowed (files.extensions)");
    return std::nullopt;
  }
  return model::BagFile{.name = name,
                        .type = std::string(model::media_type_of(name)),
                        .size_bytes = static_cast<int64_t>(part.bytes.size())};
}

// On a worker's thread.
Result<Reading> read_and_keep(const std::string& content_type, const net::Body& body,
                              const std::vector<std::string>& extensions, files::Contents& contents) {
  Reading reading;
  const auto parts = http::read_multipart(content_type, body, {.parts_max = upload_request_files_max});
  if (!parts) {
    reading.malformed = parts.error().what;
    return reading;
  }
  for (const auto& part : parts.value()) {
    if (auto file = look_at(part, extensions, reading.findings)) reading.files.push_back(*std::move(file));
  }
  if (parts.value().empty()) reading.findings.refuse("/files", "is missing: there is no file");
  if (!reading.findings.errors.empty()) return reading;
  for (std::size_t i = 0; i < reading.files.size(); ++i) {
    auto sha256 = contents.put(parts.value()[i].bytes);
    if (!sha256) return std::move(sha256.error()).in("keep " + reading.files[i].name);
    reading.files[i].sha256 = std::move(sha256).take();
  }
  return reading;
}

void refuse_files(const RequestPtr& request, store::BagOutcome outcome) {
  switch (outcome) {
    case store::BagOutcome::kept: break;
    case store::BagOutcome::chat_archived: return request->not_found();
    case store::BagOutcome::chat_full:
      return request->invalid(
          "/files", "the chat would have more than " + std::to_string(limits::bag_files_max) + " files: delete some");
    case store::BagOutcome::tenant_full: break;
  }
  request->problem(model::Slug::content_too_large, "All files together may have " +
                                                       megabytes(request->services().options.tenant_file_bytes_max) +
                                                       " (files.tenant_bytes_max): delete some.");
}

}  // namespace

std::string clean_file_name(std::string_view given) {
  std::string name;
  for (const char c : given.substr(given.find_last_of("/\\") + 1)) {
    name += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '_' : c;
  }
  // A leading dot would hide the file, or lead to a parent folder.
  name.erase(0, std::min(name.find_first_not_of(". "), name.size()));
  while (name.ends_with('.') || name.ends_with(' ')) name.pop_back();
  return name.size() <= name_bytes_max ? name : "";
}

std::string audit_detail_of(const model::BagFile& file) {
  std::string out;
  json::Writer(out)
      .begin_object()
      .key("name")
      .string(file.name)
      .key("size_bytes")
      .integer(file.size_bytes)
      .end_object();
  return out;
}

Task<BagFiles> uploaded_files(const RequestPtr& request, UploadTarget target) {
  const std::string content_type(request->header("Content-Type").value_or(""));
  if (!http::is_multipart(content_type) || request->header("Content-Encoding")) {
    request->problem(model::Slug::unsupported_media_type, "The body must be multipart/form-data.");
    co_await answered();
  }
  const auto& options = request->services().options;
  const auto& body = request->http().body;
  if (static_cast<int64_t>(body.size()) > options.upload_bytes_max) {
    request->problem(model::Slug::content_too_large, "The files of one request may have " +
                                                         megabytes(options.upload_bytes_max) +
                                                         " together (files.upload_bytes_max).");
    co_await answered();
  }
  auto reading = co_await worked<Reading>(
      request, request->tenant().id,
      [content_type, body, extensions = options.file_extensions, &contents = request->services().needs.contents] {
        return read_and_keep(content_type, body, extensions, contents);
      });
  auto& [malformed, findings, files] = reading;
  if (!malformed.empty()) {
    request->problem(model::Slug::malformed_request, "The body cannot be read: " + malformed + ".");
    co_await answered();
  }
  if (refused(request, findings)) co_await answered();

  std::vector<SandboxChange> changes;
  for (auto& file : files) {
    file.id = request->ids().make<model::FileId>();
    file.tenant_id = request->tenant().id;
    file.chat_id = target.chat;
    file.run_id = target.run;
    file.source = target.source;
    file.created_at = request->now();
    changes.push_back({file.id.text(), audit_detail_of(file)});
  }
  co_await answer<Unit>(
      [&](auto done) { record_sandbox(request, "file.uploaded", std::move(changes), std::move(done)); });
  const auto outcome =
      co_await found<store::BagOutcome>(request, &store::create_bag_files, files, options.tenant_file_bytes_max);
  if (outcome != store::BagOutcome::kept) {
    refuse_files(request, outcome);
    co_await answered();
  }
  co_return std::move(files);
}

}  // namespace sluice::api
