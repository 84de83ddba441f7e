#include "wire/agui_fold.h"

#include "base/check.h"
#include "wire/agui_projector.h"

namespace sluice::wire {

AguiFold::AguiFold(const View& view, const model::Run& run) : projector_(std::make_unique<AguiProjector>(view, run)) {}
AguiFold::AguiFold(const AguiFold& other)
    : projector_(std::make_unique<AguiProjector>(*other.projector_)), at_(other.at_) {}
AguiFold& AguiFold::operator=(const AguiFold& other) { return *this = AguiFold(other); }
AguiFold::AguiFold(AguiFold&&) noexcept = default;
AguiFold& AguiFold::operator=(AguiFold&&) noexcept = default;
AguiFold::~AguiFold() = default;

void AguiFold::apply(const journal::Committed& news, std::string& out) {
  SLUICE_CHECK(news.position().value == at_.value + 1);
  at_ = news.position();
  projector_->apply(news, out);
}

int64_t AguiFold::next_seq() const { return projector_->count(); }
bool AguiFold::ended() const { return projector_->is_over(); }
int64_t AguiFold::violations() const { return projector_->violations(); }

// ── history ──

// No client asks for a segment of that number: everything is folded, nothing is written.
AguiHistory::AguiHistory(const model::Run& run)
    : projector_(
          std::make_unique<AguiProjector>(View{.format = Format::agui_tanstack_ndjson, .segment = INT64_MAX}, run)),
      user_id_(run.user_message_id.text()) {}
AguiHistory::AguiHistory(AguiHistory&&) noexcept = default;
AguiHistory& AguiHistory::operator=(AguiHistory&&) noexcept = default;
AguiHistory::~AguiHistory() = default;

void AguiHistory::apply(const journal::Committed& news) {
  std::string nothing;
  projector_->apply(news, nothing);
}

const std::string& AguiHistory::interrupts() const { return projector_->interrupts(); }

std::string AguiHistory::earlier_messages() const { return std::string(projector_->earlier_messages()); }

std::string AguiHistory::messages() const {
  std::string own;
  projector_->transcript().append_json(own, false);
  return with_user_message(own);
}

std::string AguiHistory::messages_before_stream() const {
  std::string own;
  projector_->transcript().append_begun_json(own, projector_->count_before_segment());
  return with_user_message(own);
}

std::string AguiHistory::with_user_message(const std::string& own) const {
  std::string out = projector_->user_message();
  if (out.empty()) {
    json::Writer writer(out);
    writer.begin_object().key("id").string(user_id_).key("role").string("user");
    writer.key("content").string(user_text_).end_object();
  }
  if (!own.empty()) out += ',';
  return out += own;
}

}  // namespace sluice::wire
