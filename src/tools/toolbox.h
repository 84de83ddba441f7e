// The tools that a run is given besides those of its sandbox: webhooks of the tenant, servers of MCP at a URL or in the
// sandbox, a script that calls the others, and the client's own. The native loop calls them, and so does an agent
// program, through the bridge; neither knows who carries them out.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/callback.h"
#include "dispatch/dispatch.h"
#include "model/model.h"
#include "models/models.h"
#include "runs/runs.h"

namespace sluice::tools {

class HostCallListener {
 public:
  virtual ~HostCallListener() = default;
  // A custom event while it runs: `value` is JSON.
  virtual void on_host_custom(std::string_view name, std::string_view value) = 0;
  // What it prints, as it comes; without values of secrets.
  virtual void on_host_output(std::string_view text) = 0;
  // The last that is heard. Without values of secrets, and cut to what a model is shown, unless it is taken whole.
  virtual void on_host_answer(runs::ToolAnswer answer) = 0;
  virtual bool takes_whole_answer() const { return false; }
};

// A call under way. Dropping it ends it, also from inside a call of the listener, which gets nothing more.
class HostCall {
 public:
  virtual ~HostCall() = default;
};

class Toolbox {
 public:
  virtual ~Toolbox() = default;

  // `ready` once what must be asked for its tools has answered, or has not: what is missing is logged by `log`, and
  // left out. At once when nothing must be asked. Where a server is in the sandbox, the session is opened. `log` may be
  // called for as long as this lives.
  virtual void open(Callback<void(std::string_view level, std::string words)> log, Callback<void()> ready) = 0;
  // Between two rounds of calls, while none is under way: tools that have changed are listed anew, then `ready`, at
  // once where nothing is being listed.
  virtual void renew(Callback<void(bool have_changed)> ready) = 0;
  // All but the sandbox's own. Names are unique; the first of a name counts.
  virtual const std::vector<model::HostTool>& tools() const = 0;
  virtual bool has(std::string_view name) const = 0;
  // Carried out by the client between two of its requests: the run waits for it at a gate.
  virtual bool is_of_client(std::string_view name) const = 0;
  // Of a tool that it has, and that is not the client's. `listener` must outlive the HostCall. No callback comes from
  // inside.
  [[nodiscard]] virtual std::unique_ptr<HostCall> call(const models::ToolCall& call, std::string_view step_id,
                                                       HostCallListener& listener) = 0;
};

}  // namespace sluice::tools
