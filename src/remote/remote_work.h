// One dispatch that a runner elsewhere carries.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "harness/envelope.h"
#include "remote/remote.h"

namespace sluice::remote {

// What all work of one dispatcher has in common.
struct Context {
  RemoteNeeds needs;
  RemoteOptions options;
};

class RemoteWork final : public harness::Work, private net::CallListener {
 public:
  // `first` says with which runner it begins.
  RemoteWork(std::shared_ptr<const Context> context, harness::Dispatch dispatch, harness::DispatchListener& listener,
             std::size_t first);

  void stop(Callback<void()> gone) override;
  // A runner elsewhere raises no gates.
  void go_on(std::vector<model::ClientResult>) override { SLUICE_CHECK(false); }

 private:
  void on_head(int status, const net::Headers& headers) override;
  void on_body(std::string_view bytes) override;
  void on_end(net::CallEnd end) override;

  // Nobody can carry it.
  void give_up();
  // Each runner that is tried gets tokens of its own: one that went silent may have used the others.
  void try_runner();
  void tell_minted(const Minted& minted);
  void post(const Minted& minted);
  void pass_over(std::string_view why);
  void hear(harness::Line line);
  void hear_event(model::RunEvent event);
  void finish(const harness::ResultLine& result);
  void fail(model::Slug slug, std::string detail);
  const std::string& runner_url() const;

  const std::shared_ptr<const Context> context_;
  const harness::Dispatch dispatch_;
  harness::DispatchListener& listener_;
  const std::vector<std::string> runner_urls_;
  const std::size_t first_;
  std::size_t tried_ = 0;
  int status_ = 0;
  harness::LineReader lines_;
  std::string told_text_;
  bool over_ = false;
  std::unique_ptr<net::Call> call_;
  // Seen to expire by whoever calls back after this is gone, or dropped it from inside.
  std::shared_ptr<const char> alive_ = std::make_shared<const char>('\0');
};

// The problem that an error line tells: its own if the house has one of that name.
model::Problem problem_of(const harness::ErrorLine& line);

}  // namespace sluice::remote
