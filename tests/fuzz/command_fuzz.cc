// Lines of shell: nothing hides a denied command on the line after it.
#include "base/check.h"
#include "gates/gates.h"
#include "tests/fuzz/pieces.h"

using namespace sluice;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const auto text = fuzz::text_of(data, size);
  const model::Policy policy = {{model::Effect::deny, model::Subject::command, "git push", "", {}}};
  gates::rule_on_command(policy, text);
  if (text.ends_with('\\')) return 0;  // the line goes on
  SLUICE_CHECK(gates::rule_on_command(policy, std::string(text) + "\ngit push").effect != model::Effect::allow);
  return 0;
}
