#include "api/downloads.h"

#include <algorithm>

#include "api/worker_job.h"

namespace sluice::api {
namespace {

constexpr std::string_view any_type = "application/octet-stream";

struct TypeOf {
  std::string_view extension;
  std::string_view type;
};
// What viewers ask for by type. The rest is bytes.
constexpr TypeOf types[] = {
    {"csv", "text/csv"},        {"gif", "image/gif"},         {"html", "text/html"},   {"jpeg", "image/jpeg"},
    {"jpg", "image/jpeg"},      {"json", "application/json"}, {"md", "text/markdown"}, {"pdf", "application/pdf"},
    {"png", "image/png"},       {"svg", "image/svg+xml"},     {"txt", "text/plain"},   {"webp", "image/webp"},
    {"zip", "application/zip"},
};

std::string_view type_of(std::string_view name) {
  const auto dot = name.rfind('.');
  if (dot == std::string_view::npos) return any_type;
  const auto found = std::ranges::find(types, name.substr(dot + 1), &TypeOf::extension);
  return found == std::end(types) ? any_type : found->type;
}

// RFC 6266: a plain name for those who know no better, and the exact one (RFC 5987).
std::string disposition(std::string_view name) {
  std::string plain;
  std::string exact;
  for (const char c : name) {
    const bool is_word =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
    plain += is_word ? c : '_';
    if (is_word) {
      exact += c;
    } else {
      constexpr std::string_view digits = "0123456789ABCDEF";
      const auto byte = static_cast<unsigned char>(c);
      exact += {'%', digits[byte >> 4], digits[byte & 15]};
    }
  }
  return "attachment; filename=\"" + plain + "\"; filename*=UTF-8''" + exact;
}

void send(const Asked& asked, std::string sha256, std::string name, std::string_view type) {
  auto& contents = asked->surface().needs.contents;
  on_worker<std::string>(
      asked, [sha256, &contents] { return contents.get(sha256); },
      [asked, sha256, name = std::move(name), type](Result<std::string> bytes) {
        if (!bytes) return asked->fail(std::move(bytes.error()).in("read " + sha256));
        asked->answer(200, type, std::move(bytes).take(),
                      {{"Content-Disposition", disposition(name)},
                       {"X-Content-Type-Options", "nosniff"},
                       {"Content-Security-Policy", "sandbox; default-src 'none'"},
                       {"ETag", '"' + sha256 + '"'}});
      });
}

}  // namespace

void send_bundle(const Asked& asked, const model::Skill& skill) {
  send(asked, skill.sha256, skill.name + ".tar.gz", "application/gzip");
}

void send_file(const Asked& asked, const model::RunFile& file) {
  send(asked, file.sha256, file.name, type_of(file.name));
}

}  // namespace sluice::api
