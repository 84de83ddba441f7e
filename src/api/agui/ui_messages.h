// AG-UI messages as TanStack AI's client keeps them: one message a turn, with parts. Pure.
#pragma once

#include <string>
#include <string_view>

namespace sluice::api::agui {

// `messages` is a JSON array of AG-UI messages, as wire::AguiHistory tells them; so is what comes back of UI messages.
std::string ui_messages(std::string_view messages);

}  // namespace sluice::api::agui
