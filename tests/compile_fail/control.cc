// The control: what the other files do, done properly. It compiles, so they fail for the one reason
// they are there for.
#include "base/json.h"
#include "base/result.h"
#include "engine/engine.h"
#include "store/store.h"
#include "wire/wire.h"

namespace sluice {

Result<std::string> greeting() { return std::string("hello"); }

std::size_t reads_a_named_result() {
  auto result = greeting();
  return result ? result.value().size() : 0;
}

std::string takes_an_unnamed_result() { return greeting().take(); }

void folds_what_is_committed(wire::IntegrationFold& fold, const journal::Committed& news, std::string& out) {
  fold.apply(news, out);
}

std::string keeps_the_document(std::string_view text) {
  auto document = json::Document::parse(text);
  return document ? document.value().root().to_text() : "";
}

model::RunId asks_for_a_run(const model::Run& run) { return run.id; }

}  // namespace sluice
