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

}  // namespace sluice::wire
