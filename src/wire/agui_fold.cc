#include "wire/agui_fold.h"

#include "base/check.h"
#include "wire/agui_teller.h"

namespace sluice::wire {

AguiFold::AguiFold(const View& view, const model::Run& run) : teller_(std::make_unique<AguiTeller>(view, run)) {}
AguiFold::AguiFold(const AguiFold& other) : teller_(std::make_unique<AguiTeller>(*other.teller_)), at_(other.at_) {}
AguiFold& AguiFold::operator=(const AguiFold& other) { return *this = AguiFold(other); }
AguiFold::AguiFold(AguiFold&&) noexcept = default;
AguiFold& AguiFold::operator=(AguiFold&&) noexcept = default;
AguiFold::~AguiFold() = default;

void AguiFold::apply(const store::Committed& news, std::string& out) {
  SLUICE_CHECK(news.position().value == at_.value + 1);
  at_ = news.position();
  teller_->apply(news.event(), out);
}

int64_t AguiFold::next_seq() const { return teller_->count(); }
bool AguiFold::ended() const { return teller_->is_over(); }
int64_t AguiFold::violations() const { return teller_->violations(); }

namespace {
constexpr std::string_view counted = "step_";
constexpr std::string_view of_message = "@msg_";
}  // namespace

std::string call_id_of(const model::Run& run, std::string_view step_id) {
  std::string id(step_id);
  if (step_id.starts_with(counted)) id += "@" + run.message_id.text();
  return id;
}

std::string_view step_id_of(std::string_view call_id) {
  return call_id.starts_with(counted) ? call_id.substr(0, call_id.find(of_message)) : call_id;
}

}  // namespace sluice::wire
