#include "api/answers/downloads.h"

#include <algorithm>

#include "api/request/services.h"
#include "api/request/waiting.h"
#include "workspace/workspace.h"

namespace sluice::api {
namespace {

constexpr std::size_t piece_bytes = 64 * 1024;

// Types that a page may show. Browsers do not guess another type (nosniff).
constexpr std::string_view harmless_types[] = {"image/png", "image/jpeg", "image/gif", "image/webp", "text/plain"};

// RFC 6266: a plain name for old clients, and the exact one (RFC 5987).
std::string disposition(std::string_view how, std::string_view name) {
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
  return std::string(how) + "; filename=\"" + plain + "\"; filename*=UTF-8''" + exact;
}

// Owned by OpenAnswers from the first byte to the last.
class Sending final : public OpenAnswer {
 public:
  Sending(RequestPtr request, files::Content content) : request_(std::move(request)), content_(std::move(content)) {}

  void begin(net::Headers headers) {
    request_->start_stream(std::move(headers));
    request_->exchange().on_drained(lifetime_.guard([this] { write_on(); }));
    request_->exchange().on_gone(lifetime_.guard([this] { leave(); }));
    if (request_->exchange().gone()) return leave();
    write_on();
  }

 private:
  void write_on() {
    if (ended_ || writing_) return;
    writing_ = true;  // a write may drain at once
    auto& exchange = request_->exchange();
    while (at_ < content_.bytes.size() && exchange.unsent_bytes() < limits::stream_unsent_bytes_max &&
           !exchange.gone()) {
      const auto piece = content_.bytes.substr(at_, piece_bytes);
      at_ += piece.size();
      exchange.write(std::make_shared<const std::string>(piece));
    }
    writing_ = false;
    if (at_ < content_.bytes.size() || exchange.gone()) return;
    ended_ = true;
    exchange.finish();
    request_->stream_ended("file");
    request_->services().open_answers.let_go(*this);
  }

  void leave() {
    if (std::exchange(ended_, true)) return;
    request_->left_unanswered();
    request_->services().open_answers.let_go(*this);
  }

  RequestPtr request_;
  files::Content content_;
  std::size_t at_ = 0;
  bool writing_ = false;
  bool ended_ = false;
  Lifetime lifetime_;
};

struct Download {
  std::string name;
  std::string type;
  std::string_view how = "attachment";
  std::string etag;  // empty: none
};

void send(const RequestPtr& request, files::Content content, const Download& download) {
  net::Headers headers{{"Content-Disposition", disposition(download.how, download.name)},
                       {"X-Content-Type-Options", "nosniff"},
                       {"Cache-Control", "private, no-store"},
                       {"Content-Security-Policy", "sandbox; default-src 'none'"}};
  if (!download.etag.empty()) headers.add("ETag", '"' + download.etag + '"');
  if (content.bytes.size() <= limits::stream_unsent_bytes_max) {
    return request->answer(200, download.type, std::string(content.bytes), std::move(headers));
  }
  headers.add("Content-Type", download.type);
  request->services().open_answers.open<Sending>(request, std::move(content)).begin(std::move(headers));
}

void send_kept(const RequestPtr& request, model::TenantId tenant, const std::string& sha256, Download download) {
  auto& contents = request->services().needs.contents;
  download.etag = sha256;
  on_worker<files::Content>(
      request, tenant, [sha256, &contents] { return contents.open(sha256); },
      [request, download = std::move(download)](Result<files::Content> content) {
        // A record without its bytes is an error of the server, not of the client.
        if (!content) {
          const bool lost = content.error().kind == ErrorKind::not_found;
          return request->fail({lost ? ErrorKind::corrupt : content.error().kind, "read: " + content.error().what});
        }
        send(request, std::move(content).take(), download);
      });
}

constexpr int64_t zip_bytes_max = 500LL * 1000 * 1000;

// On a worker's thread.
Result<files::Content> zip(const std::vector<ZippedFile>& files, const files::Contents& contents,
                           const std::string& scratch_dir) {
  std::vector<files::Content> open;
  std::vector<workspace::ZipEntry> entries;
  for (const auto& file : files) {
    auto content = contents.open(file.sha256);
    if (!content) return Error{ErrorKind::unavailable, "read " + file.name + ": " + content.error().what};
    open.push_back(std::move(content).take());
    entries.push_back({file.name, open.back().bytes});
  }
  const auto made = files::make_scratch(scratch_dir);
  if (!made) return made.error();
  if (auto written = workspace::write_zip(made.value().get(), entries); !written) return written.error();
  return files::map_file(made.value().get(), "a zip");
}

}  // namespace

void send_bundle(const RequestPtr& request, const model::Skill& skill) {
  send_kept(request, skill.tenant_id, skill.sha256, {skill.name + ".tar.gz", "application/gzip"});
}

void send_file(const RequestPtr& request, const model::RunFile& file) {
  send_kept(request, file.tenant_id, file.sha256, {file.name, std::string(model::media_type_of(file.name))});
}

void send_file(const RequestPtr& request, const model::BagFile& file, Shown shown) {
  const bool harmless = std::ranges::find(harmless_types, file.type) != std::end(harmless_types);
  const std::string_view how = shown == Shown::in_page && harmless ? "inline" : "attachment";
  send_kept(request, file.tenant_id, file.sha256, {file.name, file.type, how});
}

void send_content(const RequestPtr& request, files::Content content, const std::string& name, std::string_view type) {
  send(request, std::move(content), {name, std::string(type)});
}

void send_zip(const RequestPtr& request, model::TenantId tenant, std::vector<ZippedFile> files) {
  int64_t bytes = 0;
  for (const auto& file : files) bytes += file.size_bytes;
  if (bytes > zip_bytes_max || files.size() > limits::bag_files_max) {
    return request->problem(model::Slug::content_too_large,
                            "A zip holds at most 500 files and 500 MB: get the files one by one.");
  }
  on_worker<files::Content>(
      request, tenant,
      [files = std::move(files), &contents = request->services().needs.contents,
       scratch_dir = request->services().options.scratch_dir] { return zip(files, contents, scratch_dir); },
      [request](Result<files::Content> made) {
        if (!made) return request->fail(made.error());
        send_content(request, std::move(made).take(), "files.zip", "application/zip");
      });
}

}  // namespace sluice::api
