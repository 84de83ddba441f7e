#include "inference/filler.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"

namespace sluice::inference {
namespace {

constexpr std::string_view instruction =
    "The user has written to an assistant that needs a moment before it can answer. Write one short, natural "
    "sentence, in the user's language, that bridges the pause. Do not answer, promise or ask anything. Write only "
    "the sentence.";
constexpr int64_t output_tokens_max = 40;
constexpr std::size_t message_bytes_max = 2'000;  // a sentence about a book needs not read the book
constexpr std::size_t phrase_bytes_max = 400;     // a small model that never stops talking
constexpr int64_t answer_ms_max = 10'000;

std::string_view beginning_of(std::string_view text) {
  return text.substr(0, utf8_prefix_size(text, message_bytes_max));
}

}  // namespace

Filler::Filler(const Context& context, Setting setting, FillerListener& listener)
    : context_(context),
      traceparent_(std::move(setting.traceparent)),
      listener_(listener),
      uses_model_(!context.options.filler.model_provider.empty()),
      phrase_count_(setting.phrase_count) {
  const auto& options = context_.options.filler;
  prompt_ = {.model = options.model_name,
             .system = std::string(instruction),
             .turns = {{.role = model::Role::user, .text = std::string(beginning_of(setting.message))}},
             .max_output_tokens = output_tokens_max};
  wait(options.first_ms);
}

void Filler::wait(int64_t ms) {
  const auto& options = context_.options.filler;
  if (phrase_count_ >= options.count_max) return;
  if (!uses_model_ && options.phrases.empty()) return;
  timer_ = context_.loop.after(Millis{ms}, [this] { begin_phrase(); });
}

void Filler::begin_phrase() {
  phrase_bytes_ = 0;
  if (uses_model_) {
    ask();
  } else {
    tell_prepared_phrase();
  }
}

void Filler::ask() {
  const auto& options = context_.options.filler;
  auto route = context_.providers.route({.provider = options.model_provider, .name = options.model_name}, nullptr);
  if (!route) return give_up_model("", std::move(route.error().what));
  route_ = std::move(route).take();
  call_ = ask_model(context_,
                    {.route = route_,
                     .prompt = prompt_,
                     .traceparent = traceparent_,
                     .idle_ms_max = answer_ms_max,
                     .total_ms_max = answer_ms_max},
                    *this);
}

void Filler::tell_prepared_phrase() {
  const auto& phrases = context_.options.filler.phrases;
  if (phrases.empty()) return;
  std::string phrase = phrases[static_cast<std::size_t>(phrase_count_) % phrases.size()];
  if (!phrase.ends_with(' ')) phrase += ' ';  // so that the next one, or the answer, does not stick to it
  ++phrase_count_;
  wait(context_.options.filler.every_ms);
  listener_.on_filler(std::move(phrase));
}

void Filler::end_phrase() {
  call_.reset();
  route_.figures->count_tokens(std::exchange(usage_, {}));
  ++phrase_count_;
  wait(context_.options.filler.every_ms);
  if (std::exchange(is_mid_phrase_, false)) listener_.on_filler(" ");
}

void Filler::on_model_event(models::ModelEvent event) {
  using Kind = models::ModelEvent::Kind;
  switch (event.kind) {
    case Kind::text:
      phrase_bytes_ += event.text.size();
      if (phrase_bytes_ > phrase_bytes_max) return end_phrase();
      is_mid_phrase_ = true;
      return listener_.on_filler(std::move(event.text));
    case Kind::usage: usage_ = event.usage; return;
    case Kind::stop: return end_phrase();
    case Kind::failure: return give_up_model(name_of(event.failure.failure_class), std::move(event.failure.what));
    case Kind::reasoning:
    case Kind::tool_call: return;
  }
}

void Filler::on_unanswered(net::CallFailure failure, std::string what) {
  give_up_model(name_of(failure), std::move(what));
}

void Filler::give_up_model(std::string_view failure_class, std::string what) {
  call_.reset();
  uses_model_ = false;
  if (!failure_class.empty()) route_.figures->count_failure(failure_class);
  const auto alive = lifetime_.watch();
  listener_.on_filler_trouble(std::move(what));
  if (alive.is_over()) return;
  if (is_mid_phrase_) {
    end_phrase();
  } else {
    tell_prepared_phrase();
  }
}

}  // namespace sluice::inference
