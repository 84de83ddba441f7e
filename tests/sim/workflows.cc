#include "tests/sim/workflows.h"

#include <algorithm>

#include "tests/sim/script.h"

namespace sluice::sim {
namespace {

enum class Kind : uint8_t { agents, inference, condition };

std::string name_of(int64_t block) { return "b" + std::to_string(block); }

// A model that is called once asks for no approval.
std::string prompt_for(Chance& chance, Kind kind) {
  for (;;) {
    auto prompt = prompt_of(chance.next(), "a block");
    const auto script = script_of(prompt);
    if (kind == Kind::agents || std::ranges::find(script.acts, Act::Kind::gate, &Act::kind) == script.acts.end())
      return prompt;
  }
}

std::string block_of(Chance& chance, int64_t number, Kind kind) {
  const auto opening = R"({"id":")" + name_of(number) + R"(","type":")";
  switch (kind) {
    case Kind::agents: return opening + R"(agents","agent":"default","prompt":")" + prompt_for(chance, kind) + "\"}";
    case Kind::inference: return opening + R"(inference","prompt":")" + prompt_for(chance, kind) + "\"}";
    case Kind::condition: break;
  }
  return opening + R"(condition","left":"{{blocks.)" + name_of(number - 1) +
         R"(.response}}","op":"contains","right":"w1"})";
}

std::string edge(int64_t from, int64_t to, const std::string& when) {
  return R"({"from":")" + name_of(from) + R"(","to":")" + name_of(to) + "\"" + when + "}";
}

}  // namespace

std::string workflow_definition(Chance& chance) {
  const auto count = chance.between(1, 4);
  std::string blocks;
  std::string edges;
  bool after_condition = false;
  for (int64_t number = 0; number < count; ++number) {
    const auto dice = chance.below(10);
    // A condition has a block before it, and one that is skipped or not after it.
    const bool may_ask = number > 0 && number + 1 < count && !after_condition;
    const auto kind = may_ask && dice < 4 ? Kind::condition : dice < 7 ? Kind::agents : Kind::inference;
    blocks += (blocks.empty() ? "" : ",") + block_of(chance, number, kind);
    if (number > 0) {
      edges += (edges.empty() ? "" : ",") + edge(number - 1, number, after_condition ? R"(,"when":true)" : "");
    }
    after_condition = kind == Kind::condition;
  }
  return R"({"blocks":[)" + blocks + R"(],"edges":[)" + edges + "]}";
}

}  // namespace sluice::sim
