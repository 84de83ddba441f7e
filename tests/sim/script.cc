#include "tests/sim/script.h"

#include <charconv>

#include "tests/sim/chance.h"

namespace sluice::sim {
namespace {

constexpr std::string_view head = "number ";

int64_t pause(Chance& chance, bool slow) {
  if (chance.one_in(4)) return 0;
  return slow ? chance.between(50, 3'000) : chance.between(1, 120);
}

std::string step_body(int64_t id, bool ends) {
  return R"({"id":"step_)" + std::to_string(id) + R"(","name":"bash","status":")" + (ends ? "completed" : "running") +
         R"(","args":{}})";
}

Act talk(Chance& chance, std::size_t place) {
  const auto dice = chance.below(10);
  if (dice == 0) return {Act::Kind::filler, 0, "hm "};
  if (dice == 1) return {Act::Kind::reasoning, 0, "thought " + std::to_string(place) + " "};
  if (dice == 2) return {Act::Kind::log, 0, R"({"level":"info","text":"busy"})"};
  if (dice == 3) return {Act::Kind::usage, 0, R"({"input_tokens":1,"output_tokens":2})"};
  return {Act::Kind::text, 0, "w" + std::to_string(place) + (chance.one_in(5) ? "\n" : " ")};
}

}  // namespace

std::string prompt_of(uint64_t number, std::string_view words) {
  return std::string(head) + std::to_string(number) + ": " + std::string(words);
}

Script script_of(std::string_view prompt) {
  uint64_t number = 0;
  std::from_chars(prompt.data() + head.size(), prompt.data() + prompt.size(), number);
  Chance chance(number);
  Script script;
  const bool slow = chance.one_in(3);
  const bool works = chance.one_in(3);
  const bool asks = chance.one_in(3);
  const auto count = chance.between(1, slow ? 6 : 12);
  int64_t step = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (works && chance.one_in(3)) {
      script.acts.push_back({Act::Kind::step_begins, pause(chance, slow), step_body(++step, false)});
      if (asks && chance.one_in(3)) script.acts.push_back({Act::Kind::gate, 0, std::to_string(script.acts.size())});
      script.acts.push_back({Act::Kind::step_ends, pause(chance, slow), step_body(step, true)});
      continue;
    }
    if (asks && chance.one_in(4)) {
      script.acts.push_back({Act::Kind::gate, pause(chance, slow), std::to_string(script.acts.size())});
      continue;
    }
    auto act = talk(chance, script.acts.size());
    act.after_ms = pause(chance, slow);
    script.acts.push_back(std::move(act));
  }
  const auto dice = chance.below(20);
  const auto last = dice == 0 ? Act::Kind::vanish : dice <= 2 ? Act::Kind::fail : Act::Kind::finish;
  script.acts.push_back({last, pause(chance, slow), ""});
  return script;
}

std::string Script::whole_text() const {
  std::string text;
  for (const auto& act : acts) {
    if (act.kind == Act::Kind::text) text += act.body;
  }
  return text;
}

std::optional<std::size_t> Script::place_after(std::string_view text, std::string_view reasoning) const {
  std::string said;
  std::string thought;
  for (std::size_t i = 0; i <= acts.size(); ++i) {
    if (said == text && thought == reasoning) return i;
    if (i == acts.size()) break;
    if (acts[i].kind == Act::Kind::text) said += acts[i].body;
    if (acts[i].kind == Act::Kind::reasoning) thought += acts[i].body;
  }
  return std::nullopt;
}

}  // namespace sluice::sim
