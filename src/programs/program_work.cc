#include "programs/program_work.h"

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "base/limits.h"
#include "model/session_id.h"
#include "programs/program_policy.h"
#include "programs/program_prompt.h"
#include "runs/runs.h"

namespace sluice::programs {

using harness::Heard;
using model::EventKind;
using model::Slug;

namespace {

constexpr std::string_view acp = "acp";

// After it, the program's next words are of another round.
bool is_beginning_of_call(const StepEvent& told) {
  return told.kind == EventKind::call ||
         (told.kind == EventKind::step && told.body.find(R"("status":"running")") != std::string::npos);
}

std::string sentence(std::string words) { return words.ends_with('.') ? words : words + "."; }

std::vector<model::HostTool> tools_of(const tools::Toolbox& toolbox, bool may_ask) {
  auto tools = toolbox.tools();
  if (!may_ask) return tools;
  for (auto& tool : tools::ask_tool_specs()) {
    if (!toolbox.has(tool.name)) {
      tools.push_back({std::move(tool.name), std::move(tool.description), std::move(tool.parameters)});
    }
  }
  return tools;
}

}  // namespace

ProgramWork::ProgramWork(std::shared_ptr<const agents::Shared> shared, const ProgramOptions& options,
                         harness::Dispatch dispatch, harness::DispatchListener& listener, ProgramMakers makers)
    : context_(std::move(shared)),
      options_(options),
      makers_(std::move(makers)),
      dispatch_([&] {
        if (!dispatch.secrets) dispatch.secrets = std::make_shared<vault::Secrets>();
        return std::move(dispatch);
      }()),
      listener_(listener),
      output_(context_.loop(), dispatch_.secrets, listener),
      steps_({.output_bytes_max = context_.sessions().options.tool_output_bytes_max,
              .result_chars_max = context_.sessions().options.tool_result_chars_max,
              .open_max = limits::runner_steps_max},
             dispatch_.secrets) {
  context_.loop().defer([this, alive = lifeline_.watch()] {
    if (!alive.expired()) start();
  });
}

// ── from nothing to a program at work ───────────────────────────────────────────────────────────

void ProgramWork::start() {
  if (dispatch_.resumed && !dispatch_.told_text.empty()) {
    return fail(Slug::run_interrupted,
                "The work was interrupted while the agent program was speaking, and it cannot go on where it stopped.");
  }
  if (context_.sessions().sandbox == nullptr) {
    return fail(Slug::sandbox_failed, "The agent program " + agent_type() +
                                          " runs in a sandbox, and there is none on this server (`sluice doctor` "
                                          "says why).");
  }
  if (auto prepared = prepare(); !prepared) {
    const bool is_of_agent = prepared.error().kind == ErrorKind::invalid;
    return fail(is_of_agent ? Slug::agent_misconfigured : Slug::sandbox_failed, std::move(prepared.error().what));
  }
  if (!dispatch_.checkpoint.empty() && !take_up_checkpoint()) return;
  begin_clocks();
  sessions::SessionListener& listener = *this;
  session_ = std::make_unique<sessions::SandboxSession>(context_.sessions(), context_.loop(), dispatch_,
                                                        std::move(session_state_), output_, listener);
  session_->suspend(context_.is_suspended());
  if (!model_.host.empty()) session_->set_model_host({model_.host, model_.alias});
  if (!place_.folder.empty()) {
    session_->bind({.from = place_.folder, .to = std::string(harness::program_dir) + "/" + agent_type()});
  }
  open_box();
}

Result<Unit> ProgramWork::prepare() {
  const auto wrong = [](std::string what) { return Error{ErrorKind::invalid, std::move(what)}; };
  if (const auto& find = options_.find) place_ = find(agent_type()).value_or(place_);
  if (program_path().empty()) {
    return wrong(agent_type() == acp ? "The agent has the agent_type \"acp\" and no command: name the program to start."
                                     : "The agent program " + agent_type() +
                                           " is not installed on this server: `sluice harness install " + agent_type() +
                                           "` installs it.");
  }
  if (const auto& id = dispatch_.extras.session_id; id && !model::is_session_id(*id)) {
    return wrong("The session_id cannot be one of an agent program: letters, digits, '-', '_', '.' and ':' only.");
  }
  auto route = context_.inference().providers.route(dispatch_.agent.model, dispatch_.secrets.get());
  if (!route) return std::move(route.error());
  figures_ = route.value().figures;
  auto planned = plan_program_model(route.value(), dispatch_.agent);
  if (!planned) return std::move(planned.error());
  model_ = std::move(planned).take();
  if (!model_.host.empty() && context_.sessions().egress == nullptr) {
    return Error{ErrorKind::unavailable, "The agent program " + agent_type() +
                                             " asks its model from inside its sandbox, and nothing leaves a sandbox of "
                                             "this server: switch egress on."};
  }
  if (model_.key) dispatch_.secrets->pin(*model_.key);
  dispatch_.agent.policy = policy_with(model_, std::move(dispatch_.agent.policy));
  session_id_ = dispatch_.extras.session_id.value_or("");
  auto launch = makers_.plan(assignment());
  if (!launch) return wrong(sentence(launch.error().what));
  return Unit{};
}

std::string ProgramWork::program_path() const {
  if (agent_type() == acp) return dispatch_.agent.kit.command.empty() ? "" : dispatch_.agent.kit.command[0];
  return place_.path;
}

void ProgramWork::begin_clocks() {
  const auto seconds = dispatch_.agent.limits.max_runtime_seconds;
  runtime_began_us_ = now_us();
  runtime_ = context_.loop().after(Millis{std::max<int64_t>(0, seconds * 1000 - runtime_used_ms_)}, [this, seconds] {
    fail(Slug::runtime_exceeded, "The run took longer than the agent's " + std::to_string(seconds) + " s.");
  });
  if (!dispatch_.filler || has_spoken_) return;
  inference::FillerListener& listener = *this;
  filler_ = std::make_unique<inference::Filler>(
      context_.inference(), inference::Filler::Setting{dispatch_.prompt, dispatch_.traceparent, filler_count_},
      listener);
}

// A session remembers what this run stands instead of.
bool ProgramWork::begins_session() const { return dispatch_.extras.agui && dispatch_.extras.agui->replaces; }

void ProgramWork::open_box() {
  phase_ = Phase::opening;
  session_->open([this] {
    home_ = std::make_unique<ProgramHome>(*session_);
    if (!session_id_.empty() || !resumed_.empty() || begins_session()) return open_toolbox();
    home_->read_session(agent_type(), [this](std::string session_id) {
      session_id_ = std::move(session_id);
      open_toolbox();
    });
  });
}

void ProgramWork::open_toolbox() {
  toolbox_ = tools::make_toolbox(context_.tools(), dispatch_, session_.get());
  toolbox_->open(
      [this](std::string_view level, std::string words) {
        output_.emit(EventKind::log, runs::log_body(level, runs::to_utf8(words)));
      },
      [this] { write_files(); });
}

harness::Assignment ProgramWork::assignment() const {
  harness::Assignment assignment{.agent_type = agent_type(),
                                 .command = dispatch_.agent.kit.command,
                                 .program = program_path(),
                                 .model = model_.access,
                                 .system_prompt = {},
                                 .prompt = prompt(),
                                 .session_id = std::nullopt,
                                 .asks = may_object(dispatch_.agent.policy),
                                 .may_defer = dispatch_.may_ask && !dispatch_.keeps_box,
                                 .tools = {},
                                 .bridge_url = {},
                                 .variables = dispatch_.materials.variables};
  if (!session_id_.empty()) assignment.session_id = session_id_;
  if (session_) assignment.system_prompt = program_system_prompt(dispatch_, session_->place_words());
  if (toolbox_) assignment.tools = tools_of(*toolbox_, dispatch_.may_ask);
  if (!assignment.tools.empty() && session_->bridge() != nullptr) assignment.bridge_url = sessions::bridge_mcp_url;
  return assignment;
}

std::string ProgramWork::prompt() const {
  if (resumed_.empty() || session_id_.empty()) return program_prompt(dispatch_, !session_id_.empty());
  if (is_deferred_) return {};
  std::string words;
  for (const auto& call : resumed_) {
    if (!words.empty()) words += "\n\n";
    words += call.name.empty() ? "What you were waiting for was allowed by a human meanwhile. Go on with your work."
                               : harness::resume_prompt({.id = {}, .name = call.name, .arguments = call.arguments});
  }
  return words;
}

void ProgramWork::write_files() {
  auto launch = makers_.plan(assignment());
  if (!launch) return fail(Slug::agent_misconfigured, sentence(launch.error().what));
  auto files = std::move(launch.value().files);
  files.push_back({.path = std::string(harness::state_dir) + "/.gitignore", .text = "*\n"});
  home_->prepare(std::move(launch.value().removed), std::move(files), [this](Result<Unit> written) {
    if (!written) return fail(Slug::sandbox_failed, "The agent program's files: " + written.error().what + ".");
    if (!dispatch_.witness) return start_program();
    const auto alive = lifeline_.watch();
    output_.emit_phase(harness::launch_phase, "The agent program is started", 0);
    if (alive.expired()) return;
    dispatch_.witness->see([this, alive] {
      // It may have been stopped, or have failed, while nobody had seen it.
      if (!alive.expired() && session_ && phase_ == Phase::opening) start_program();
    });
  });
}

void ProgramWork::start_program() {
  const auto given = assignment();
  auto launch = makers_.plan(given);
  if (!launch) return fail(Slug::agent_misconfigured, sentence(launch.error().what));
  tools::BridgeUser& user = *this;
  if (!given.bridge_url.empty()) {
    door_ = std::make_unique<tools::McpEndpoint>(context_.loop(), *session_->bridge(), given.tools, user);
  }
  dialect_ = makers_.dialect(given);
  phase_ = Phase::running;
  raw_.clear();
  breaks_.clear();
  complaints_.clear();
  is_deferred_ = false;
  is_input_closed_ = false;
  is_turn_over_ = false;
  resumed_.clear();
  started_us_ = now_us();
  heard_us_ = 0;
  sandbox::ProcessListener& listener = *this;
  process_ = session_->start({.argv = std::move(launch.value().argv),
                              .environment = std::move(launch.value().environment),
                              .input = dialect_->opening(),
                              .keeps_input = true},
                             listener);
  read_or_pause();
  watch_silence();
}

void ProgramWork::read_or_pause() {
  const bool asks_human = phase_ == Phase::holding || phase_ == Phase::waiting;
  if (process_) process_->pause(is_held_back_ || asks_human);
}

// ── what goes wrong, and the end ────────────────────────────────────────────────────────────────

void ProgramWork::on_filler_trouble(std::string what) {
  output_.emit(EventKind::log, runs::log_body("warn", "No filler from the small model: " + runs::to_utf8(what)));
}

bool ProgramWork::emit(StepEvents events) {
  const auto alive = lifeline_.watch();
  for (auto& told : events) {
    if (is_beginning_of_call(told)) paragraphs_.end_round();
    output_.emit(told.kind, std::move(told.body));
    if (alive.expired()) return false;
  }
  return true;
}

// The process is given time to end by itself: what it still writes to its home belongs to the session.
void ProgramWork::finish_turn() {
  const auto gave_up = "The agent program ended its turn without another word after this: ";
  if (!refusal_.empty() && !emit({{EventKind::log, runs::log_body("warn", gave_up + refusal_)}})) return;
  phase_ = Phase::ending;
  silence_.cancel();
  for (const auto& question : std::exchange(questions_, {})) {
    if (question.from == Question::From::way_out) session_->settle(question.number, false, "The agent's turn is over.");
  }
  errands_.clear();
  if (!process_) return conclude();
  pump();
  if (!std::exchange(is_input_closed_, true)) process_->close_input();
  end_ = context_.loop().after(Millis{options_.end_ms_max}, [this] { process_->stop(); });
}

void ProgramWork::conclude() {
  phase_ = Phase::finishing;
  end_.cancel();
  process_.reset();
  door_.reset();
  toolbox_.reset();
  if (figures_ != nullptr) figures_->count_tokens(usage_);
  const auto alive = lifeline_.watch();
  end_filler();
  if (!alive.expired()) output_.flush();
  if (alive.expired()) return;
  if (emit(steps_.break_off("The agent program did not say how this ended.", now_us()))) keep_session();
}

void ProgramWork::keep_session() {
  if (session_id_.empty()) return finish();
  home_ = std::make_unique<ProgramHome>(*session_);
  home_->write({session_file(agent_type(), session_id_)}, [this](Result<Unit> written) {
    if (!written) return fail(Slug::writeback_failed, "The session could not be kept: " + written.error().what + ".");
    finish();
  });
}

void ProgramWork::finish() {
  session_->finish(said(), [this] {
    const model::Usage usage{usage_before_.input_tokens + usage_.input_tokens,
                             usage_before_.output_tokens + usage_.output_tokens};
    stop_all();
    listener_.on_finished(usage);
  });
}

void ProgramWork::fail(Slug slug, std::string detail) {
  const auto alive = lifeline_.watch();
  process_.reset();
  output_.flush();
  if (alive.expired()) return;
  detail = clean(runs::to_utf8(detail));
  if (!emit(steps_.break_off(detail, now_us()))) return;
  context_.log().write(
      world::LogLevel::warn, "agent program failed",
      {{"run", dispatch_.run.text()}, {"agent_type", agent_type()}, {"problem", model::entry_of(slug).name}});
  if (session_) session_->forget_held();
  stop_all();
  listener_.on_failed({.slug = slug, .detail = std::move(detail)});
}

void ProgramWork::stop(Callback<void()> gone) {
  // Before its box, in which they are.
  process_.reset();
  door_.reset();
  errands_.clear();
  toolbox_.reset();
  home_.reset();
  auto session = std::move(session_);
  stop_all();
  if (!session) return context_.loop().defer(std::move(gone));
  session->stop(std::move(gone));
}

void ProgramWork::stop_all() {
  runtime_.cancel();
  silence_.cancel();
  end_.cancel();
  filler_.reset();
  process_.reset();
  door_.reset();
  errands_.clear();
  toolbox_.reset();
  home_.reset();
  session_.reset();
}

}  // namespace sluice::programs
