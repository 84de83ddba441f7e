#include "sessions/live_sandbox.h"

#include <utility>

namespace sluice::sessions {

std::vector<std::string> ignored_directories(const SessionOptions& options) {
  auto names = options.ignored_directories;
  names.emplace_back(dispatch::program_state_dir.substr(dispatch::program_state_dir.rfind('/') + 1));
  return names;
}

class LiveSandbox::Background final : private CommandListener {
 public:
  Background(LiveSandbox& box, std::string step_id, sandbox::Command command, runs::SharedSecrets secrets)
      : box_(box),
        user_number_(box.user_count_),
        id_(std::move(step_id)),
        run_(*box.box(), std::move(command), {.emitted_bytes_max = box.host_.options.tool_output_bytes_max},
             std::move(secrets), box.host_.loop, *this) {}

 private:
  void on_printed(sandbox::Stream stream, std::string text) override { emit(stream, std::move(text)); }
  void on_ended(sandbox::Exit exit, std::string) override {
    if (exit.cause != sandbox::ExitCause::not_started) return;
    emit(sandbox::Stream::err, "could not be started: " + exit.what);
  }
  // Another run has steps of the same names.
  void emit(sandbox::Stream stream, std::string text) {
    if (box_.user_ == nullptr || box_.user_count_ != user_number_) return;
    box_.user_->on_sandbox_printed(id_, stream, std::move(text));
  }

  LiveSandbox& box_;
  const int user_number_;
  const std::string id_;
  CommandRun run_;
};

LiveSandbox::LiveSandbox(const Host& host, SandboxUser& user) : host_(host), user_(&user), box_(host.loop) {}

LiveSandbox::~LiveSandbox() = default;

void LiveSandbox::open(sandbox::BoxRequest request, Callback<void(Result<Unit>)> then) {
  box_.open(*host_.sandbox, std::move(request),
            lifetime_.guard([this, then = std::move(then)](Result<Unit> opened) mutable {
              if (!opened) return then(std::move(opened));
              box_.box()->on_lost(lifetime_.guard([this](std::string what) {
                // Not from inside the sandbox, which this drops.
                host_.loop.defer(lifetime_.guard([this, what = std::move(what)]() mutable { lose(std::move(what)); }));
              }));
              auto way_out = host_.egress != nullptr ? box_.box()->take_egress_listener() : OwnedFd();
              if (way_out) outlet_ = host_.egress->open(std::move(way_out));
              open_bridge();
              if (is_suspended_) suspend(true);
              then(std::move(opened));
            }));
}

void LiveSandbox::open_bridge() {
  auto door = host_.serve_bridge ? box_.box()->take_bridge_listener() : OwnedFd();
  if (!door) return;
  auto bridge = Bridge::open(host_.serve_bridge, std::move(door));
  if (bridge) {
    bridge_ = std::move(bridge).take();
  } else {
    host_.log.write(world::LogLevel::error, "a sandbox has no bridge to the host's tools",
                    {{"why", bridge.error().what}});
  }
}

void LiveSandbox::lose(std::string what) {
  if (user_ != nullptr) return user_->on_sandbox_lost(std::move(what));
  if (when_lost_) std::exchange(when_lost_, nullptr)();
}

Result<Unit> LiveSandbox::watch_files() {
  auto watching = host_.watcher->watch(box_.box()->workspace_fd(), {.ignored = ignored_directories(host_.options)},
                                       [this](std::vector<workspace::FileNews> news) {
                                         if (user_ != nullptr) user_->on_sandbox_files(std::move(news));
                                       });
  if (!watching) return std::move(watching.error());
  watching_ = std::move(watching).take();
  return Unit{};
}

void LiveSandbox::settle_files() {
  if (watching_) watching_->settle();
}

void LiveSandbox::run_in_background(std::string step_id, sandbox::Command command, runs::SharedSecrets secrets) {
  background_.push_back(
      std::make_unique<Background>(*this, std::move(step_id), std::move(command), std::move(secrets)));
}

void LiveSandbox::serve(egress::RunAccess access) {
  if (outlet_) outlet_->serve(std::move(access), *this);
}

void LiveSandbox::suspend(bool suspended) {
  is_suspended_ = suspended;
  if (box_.is_there()) box_.box()->freeze(suspended);
  if (outlet_) outlet_->hold(suspended);
}

void LiveSandbox::on_request(egress::RequestRecord record) {
  if (user_ != nullptr) user_->on_sandbox_request(std::move(record));
}

void LiveSandbox::on_question(egress::Question question) {
  if (user_ != nullptr) return user_->on_sandbox_question(std::move(question));
  outlet_->settle(question.number, false, "The agent's run is over.");
}

void LiveSandbox::leave() {
  // Its processes stay alive between two runs, but nothing of theirs may leave without a run that answers for it.
  if (outlet_) outlet_->refuse_all();
  user_ = nullptr;
}

void LiveSandbox::kill(Callback<void(Result<Unit>)> gone) {
  outlet_.reset();  // first: no request may leave from a sandbox that counts as ended
  box_.kill(std::move(gone));
}

}  // namespace sluice::sessions
