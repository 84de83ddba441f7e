#include "tools/host_call_output.h"

#include <utility>

#include "runs/runs.h"

namespace sluice::tools {
namespace {

constexpr std::size_t name_bytes_max = 128;

}  // namespace

HostCallOutput::HostCallOutput(const Context& context, runs::SharedSecrets secrets, HostCallListener& listener)
    : options_(context.limits), secrets_(std::move(secrets)), listener_(listener), printed_(secrets_) {}

bool HostCallOutput::custom(std::string_view name, std::string_view value) {
  name = runs::utf8_prefix(name, name_bytes_max);
  // Without it a tool could forge an event of another kind, which clients take for the server's own.
  const bool has_prefix = name.find_first_of(".:") != std::string_view::npos;
  const auto alive = lifetime_.watch();
  listener_.on_host_custom(has_prefix ? std::string(name) : "tool." + std::string(name), value);
  return !alive.is_over();
}

bool HostCallOutput::output(std::string text) { return print(printed_.push(std::move(text))); }

bool HostCallOutput::print(std::string text) {
  if (text.empty() || is_cut_) return true;
  const auto fits = runs::utf8_prefix(text, options_.tool_output_bytes_max - printed_bytes_).size();
  printed_bytes_ += fits;
  if (fits < text.size()) {
    // Said once: a tool that prints without end must not fill the journal with it.
    is_cut_ = true;
    text.resize(fits);
    text += "\n… output cut: more than " + std::to_string(options_.tool_output_bytes_max) + " bytes …\n";
  }
  const auto alive = lifetime_.watch();
  listener_.on_host_output(text);
  return !alive.is_over();
}

void HostCallOutput::answer(runs::ToolAnswer answer) {
  if (!print(printed_.finish())) return;
  // Scrubbed before it is cut, or a half of a value could be left at the cut.
  auto text = runs::scrubbed(secrets_, runs::to_utf8(answer.text));
  if (!listener_.takes_whole_answer()) {
    runs::Excerpt excerpt(options_.tool_result_chars_max);
    excerpt.append(text);
    text = excerpt.text();
  }
  listener_.on_host_answer({.text = std::move(text), .failed = answer.failed});
}

}  // namespace sluice::tools
