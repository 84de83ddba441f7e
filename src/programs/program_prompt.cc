#include "programs/program_prompt.h"

#include <vector>

#include "harness/harness.h"
#include "runs/runs.h"

namespace sluice::programs {
namespace {

constexpr std::size_t turn_chars_max = 8'000;
constexpr std::size_t transcript_bytes_max = 64'000;

std::string turn_text(const dispatch::HistoryTurn& turn) {
  runs::Excerpt excerpt(turn_chars_max);
  excerpt.append(turn.content);
  return (turn.role == model::Role::user ? "User: " : "You: ") + excerpt.text() + "\n\n";
}

}  // namespace

std::string program_system_prompt(const dispatch::Dispatch& dispatch, std::string_view place) {
  std::string words = dispatch.agent.system_prompt;
  if (!words.empty()) words += "\n\n";
  words += place;
  if (dispatch.extras.context.empty()) return words;
  words += "\n\nWhat the user's client says of its situation:";
  for (const auto& note : dispatch.extras.context) words += "\n- " + note.description + ": " + note.value;
  return words;
}

std::string program_prompt(const dispatch::Dispatch& dispatch, bool has_session) {
  if (has_session || dispatch.history.empty()) return dispatch.prompt;
  std::vector<std::string> turns;
  std::size_t bytes = 0;
  for (auto turn = dispatch.history.rbegin(); turn != dispatch.history.rend(); ++turn) {
    turns.push_back(turn_text(*turn));
    bytes += turns.back().size();
    if (bytes > transcript_bytes_max) {
      turns.pop_back();
      break;
    }
  }
  std::string words = "The conversation so far:\n\n";
  for (auto turn = turns.rbegin(); turn != turns.rend(); ++turn) words += *turn;
  return words + "The user's message now:\n\n" + dispatch.prompt;
}

std::string resume_prompt(const std::vector<AskedCall>& calls) {
  std::string words;
  for (const auto& call : calls) {
    if (!words.empty()) words += "\n\n";
    words += call.name.empty() ? "What you were waiting for was allowed by a human meanwhile. Go on with your work."
                               : harness::resume_prompt({.id = {}, .name = call.name, .arguments = call.arguments});
  }
  return words;
}

}  // namespace sluice::programs
