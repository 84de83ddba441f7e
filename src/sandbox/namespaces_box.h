// The Box and the Process of the driver `namespaces`: what a caller holds of a Cell and of what runs in it.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "sandbox/cell.h"
#include "sandbox/sandbox.h"

namespace sluice::sandbox {

class RunningProcess final : public Process {
 public:
  explicit RunningProcess(std::shared_ptr<Running> running) : running_(std::move(running)) {}
  ~RunningProcess() override { running_->drop(); }
  void stop() override { running_->stop(); }
  void pause(bool paused) override { running_->pause(paused); }
  void write(std::string_view bytes) override { running_->write(bytes); }
  void close_input() override { running_->close_input(); }
  std::size_t unwritten_bytes() const override { return running_->unwritten_bytes(); }

 private:
  const std::shared_ptr<Running> running_;
};

// Where Boxes find their Cell: it goes when it is dead, and all of them go with the Sandbox.
class CellFinder {
 public:
  virtual ~CellFinder() = default;
  virtual Cell* find(uint32_t number) = 0;
  virtual world::Reactor& reactor() = 0;
};

class NamespacesBox final : public Box {
 public:
  NamespacesBox(std::shared_ptr<CellFinder> cells, uint32_t number, Shown shown, bool warm)
      : cells_(std::move(cells)), number_(number), shown_(std::move(shown)), warm_(warm) {}
  ~NamespacesBox() override {
    if (Cell* const cell = cells_->find(number_)) {
      cell->lost = nullptr;
      cell->kill();
    }
  }

  std::unique_ptr<Process> start(Command command, ProcessListener& listener) override {
    if (Cell* const cell = cells_->find(number_)) {
      return std::make_unique<RunningProcess>(cell->start(std::move(command), listener));
    }
    auto running = std::make_shared<Running>(cells_->reactor(), listener, command, nullptr);
    cells_->reactor().defer([running] { running->end({.cause = ExitCause::box_lost, .what = "the box has ended"}); });
    return std::make_unique<RunningProcess>(std::move(running));
  }
  int workspace_fd() const override { return shown_.workspace.get(); }
  int changes_fd() const override { return shown_.changes.get(); }
  bool was_warm() const override { return warm_; }
  OwnedFd take_egress_listener() override {
    Cell* const cell = cells_->find(number_);
    return cell == nullptr ? OwnedFd() : std::move(cell->egress_listener);
  }
  OwnedFd take_bridge_listener() override {
    Cell* const cell = cells_->find(number_);
    return cell == nullptr ? OwnedFd() : std::move(cell->bridge_listener);
  }
  void on_lost(Callback<void(std::string)> then) override {
    if (Cell* const cell = cells_->find(number_)) cell->lost = std::move(then);
  }
  void freeze(bool frozen) override {
    if (Cell* const cell = cells_->find(number_)) cell->freeze(frozen);
  }
  void kill(Callback<void(Result<Unit>)> done) override {
    Cell* const cell = cells_->find(number_);
    if (cell == nullptr) return cells_->reactor().defer([done = std::move(done)]() mutable { done(Unit{}); });
    cell->lost = nullptr;
    cell->when_dead.push_back(std::move(done));
    cell->kill();
  }

 private:
  const std::shared_ptr<CellFinder> cells_;  // shared with all boxes, some of which may outlive the Sandbox
  const uint32_t number_;
  const Shown shown_;
  const bool warm_;
};

}  // namespace sluice::sandbox
