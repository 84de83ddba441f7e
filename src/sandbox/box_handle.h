// The Box and the Process that callers hold, of both drivers: handles to a BoxSupervisor and to a CommandProcess. Used
// on the loop's thread only. They are valid after the sandbox has ended, and do nothing then.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "sandbox/box_supervisor.h"
#include "sandbox/sandbox.h"

namespace sluice::sandbox {

class ProcessHandle final : public Process {
 public:
  explicit ProcessHandle(std::shared_ptr<CommandProcess> process) : process_(std::move(process)) {}
  ~ProcessHandle() override { process_->drop(); }
  void stop() override { process_->stop(); }
  void pause(bool paused) override { process_->pause(paused); }
  void write(std::string_view bytes) override { process_->write(bytes); }
  void close_input() override { process_->close_input(); }
  std::size_t unwritten_bytes() const override { return process_->unwritten_bytes(); }

 private:
  const std::shared_ptr<CommandProcess> process_;
};

// Where a BoxHandle finds its BoxSupervisor, which is destroyed when the sandbox is dead or the Sandbox object is.
class BoxFinder {
 public:
  virtual ~BoxFinder() = default;
  virtual BoxSupervisor* find(uint32_t number) = 0;
  virtual world::Reactor& reactor() = 0;
};

class BoxHandle final : public Box {
 public:
  BoxHandle(std::shared_ptr<BoxFinder> boxes, uint32_t number, WorkspaceDirectories shown, bool warm)
      : boxes_(std::move(boxes)), number_(number), shown_(std::move(shown)), warm_(warm) {}
  ~BoxHandle() override {
    if (BoxSupervisor* const box = boxes_->find(number_)) {
      box->lost = nullptr;
      box->kill();
    }
  }

  std::unique_ptr<Process> start(Command command, ProcessListener& listener) override {
    if (BoxSupervisor* const box = boxes_->find(number_)) {
      return std::make_unique<ProcessHandle>(box->start(std::move(command), listener));
    }
    auto process = std::make_shared<CommandProcess>(boxes_->reactor(), listener, command, nullptr);
    boxes_->reactor().defer([process] { process->end({.cause = ExitCause::box_lost, .what = "the box has ended"}); });
    return std::make_unique<ProcessHandle>(std::move(process));
  }
  int workspace_fd() const override { return shown_.workspace.get(); }
  int changes_fd() const override { return shown_.changes.get(); }
  bool was_warm() const override { return warm_; }
  OwnedFd take_egress_listener() override {
    BoxSupervisor* const box = boxes_->find(number_);
    return box == nullptr ? OwnedFd() : std::move(box->egress_listener);
  }
  OwnedFd take_bridge_listener() override {
    BoxSupervisor* const box = boxes_->find(number_);
    return box == nullptr ? OwnedFd() : std::move(box->bridge_listener);
  }
  void on_lost(Callback<void(std::string)> then) override {
    if (BoxSupervisor* const box = boxes_->find(number_)) box->lost = std::move(then);
  }
  void freeze(bool frozen) override {
    if (BoxSupervisor* const box = boxes_->find(number_)) box->freeze(frozen);
  }
  void kill(Callback<void(Result<Unit>)> done) override {
    BoxSupervisor* const box = boxes_->find(number_);
    if (box == nullptr) return boxes_->reactor().defer([done = std::move(done)]() mutable { done(Unit{}); });
    box->lost = nullptr;
    box->when_dead.push_back(std::move(done));
    box->kill();
  }

 private:
  const std::shared_ptr<BoxFinder> boxes_;  // shared with all handles, which may outlive the Sandbox
  const uint32_t number_;
  const WorkspaceDirectories shown_;
  const bool warm_;
};

}  // namespace sluice::sandbox
