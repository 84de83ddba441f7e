#include "api/downloads.h"

#include <algorithm>

#include "api/worker_job.h"

namespace sluice::api {
namespace {

constexpr std::size_t piece_bytes = 64 * 1024;

// What a page may show. A browser that is told the type does not guess another (nosniff).
constexpr std::string_view harmless_types[] = {"image/png", "image/jpeg", "image/gif", "image/webp", "text/plain"};

// RFC 6266: a plain name for those who know no better, and the exact one (RFC 5987).
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

// Owned by OpenAnswers from the first byte to the last; the connection has weak pointers only.
class Sending final : public OpenAnswer, public std::enable_shared_from_this<Sending> {
 public:
  Sending(Asked asked, files::Content content) : asked_(std::move(asked)), content_(std::move(content)) {}

  void begin(net::Headers headers) {
    asked_->start_stream(std::move(headers));
    asked_->surface().open_answers.keep(shared_from_this());
    asked_->exchange().on_drained([weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->go_on();
    });
    asked_->exchange().on_gone([weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->leave();
    });
    if (asked_->exchange().gone()) return leave();
    go_on();
  }

 private:
  void go_on() {
    if (ended_ || writing_) return;
    writing_ = true;  // a write may drain at once
    auto& exchange = asked_->exchange();
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
    asked_->stream_ended("file");
    asked_->surface().open_answers.let_go(*this);
  }

  void leave() {
    if (std::exchange(ended_, true)) return;
    asked_->left_unanswered();
    asked_->surface().open_answers.let_go(*this);
  }

  Asked asked_;
  files::Content content_;
  std::size_t at_ = 0;
  bool writing_ = false;
  bool ended_ = false;
};

struct Told {
  std::string name;
  std::string type;
  std::string_view how = "attachment";
  std::string etag;  // empty: none
};

void send(const Asked& asked, files::Content content, const Told& told) {
  net::Headers headers{{"Content-Disposition", disposition(told.how, told.name)},
                       {"X-Content-Type-Options", "nosniff"},
                       {"Cache-Control", "private, no-store"},
                       {"Content-Security-Policy", "sandbox; default-src 'none'"}};
  if (!told.etag.empty()) headers.add("ETag", '"' + told.etag + '"');
  if (content.bytes.size() <= limits::stream_unsent_bytes_max) {
    return asked->answer(200, told.type, std::string(content.bytes), std::move(headers));
  }
  headers.add("Content-Type", told.type);
  std::make_shared<Sending>(asked, std::move(content))->begin(std::move(headers));
}

void send_kept(const Asked& asked, model::TenantId tenant, const std::string& sha256, Told told) {
  auto& contents = asked->surface().needs.contents;
  told.etag = sha256;
  on_worker<files::Content>(
      asked, tenant, [sha256, &contents] { return contents.open(sha256); },
      [asked, told = std::move(told)](Result<files::Content> content) {
        // That the bytes of a record are gone is our fault, not the caller's.
        if (!content) {
          const bool lost = content.error().kind == ErrorKind::not_found;
          return asked->fail({lost ? ErrorKind::corrupt : content.error().kind, "read: " + content.error().what});
        }
        send(asked, std::move(content).take(), told);
      });
}

}  // namespace

void send_bundle(const Asked& asked, const model::Skill& skill) {
  send_kept(asked, skill.tenant_id, skill.sha256, {skill.name + ".tar.gz", "application/gzip"});
}

void send_file(const Asked& asked, const model::RunFile& file) {
  send_kept(asked, file.tenant_id, file.sha256, {file.name, std::string(model::media_type_of(file.name))});
}

void send_file(const Asked& asked, const model::BagFile& file, Shown shown) {
  const bool harmless = std::ranges::find(harmless_types, file.type) != std::end(harmless_types);
  const std::string_view how = shown == Shown::in_page && harmless ? "inline" : "attachment";
  send_kept(asked, file.tenant_id, file.sha256, {file.name, file.type, how});
}

void send_content(const Asked& asked, files::Content content, const std::string& name, std::string_view type) {
  send(asked, std::move(content), {name, std::string(type)});
}

}  // namespace sluice::api
