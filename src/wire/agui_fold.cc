#include "wire/agui_fold.h"

namespace sluice::wire {

AguiFold::AguiFold(const View& view, const model::Run&) : view_(view) {}
void AguiFold::apply(const store::Committed& news, std::string&) { at_ = news.position(); }
AguiHistory::AguiHistory(const model::Run&) {}
void AguiHistory::apply(const store::Committed&) {}
std::string AguiHistory::messages() const { return {}; }
void AguiHistory::set_user_text(std::string) {}
std::string AguiHistory::interrupts(Format) const { return {}; }

}  // namespace sluice::wire
