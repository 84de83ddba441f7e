// What every handler works with: the modules below, the settings, and what is remembered between two requests.
// There is one object of it per server, used on the loop's thread. What only one surface remembers belongs to that
// surface; here is just a reference to it.
#pragma once

#include <span>

#include "api/request/answer_accounts.h"
#include "api/request/authentication.h"
#include "api/request/capacity_history.h"
#include "api/request/needs.h"
#include "api/request/open_answers.h"
#include "api/request/rate_limits.h"
#include "api/request/recorded_changes.h"
#include "api/request/request_metrics.h"

namespace sluice::api {

namespace assistant {
class Turns;
}
namespace console {
struct Console;
}
namespace operations {
struct Documents;
}

struct Services {
  struct OfSurfaces {
    assistant::Turns& turns;
    console::Console& console;
    const operations::Documents& documents;
  };

  Services(ApiNeeds its_needs, ApiOptions its_options, OfSurfaces of, std::span<const Route> routes)
      : needs(its_needs),
        options(std::move(its_options)),
        authentication(needs.store, needs.loop, options.admin_key_sha256, options.run_bearer_root),
        requests(options.request_rate),
        wrong_keys(options.wrong_key_rate),
        metrics(needs.metrics, routes),
        open_answers(needs.loop),
        turns(of.turns),
        console(of.console),
        documents(of.documents),
        capacity_history(needs.loop, needs.engine) {}

  ApiNeeds needs;
  ApiOptions options;
  Authentication authentication;
  TokenBuckets requests;    // a bucket for each key
  TokenBuckets wrong_keys;  // a bucket for each address
  AnswerAccounts answer_accounts;
  RecordedChanges recorded_changes;
  ChangeCounts change_counts;
  mutable RequestLines request_lines;  // mutable because Api::refusal() is const and logs, too
  RequestMetrics metrics;
  OpenAnswers open_answers;
  assistant::Turns& turns;
  console::Console& console;
  const operations::Documents& documents;
  CapacityHistory capacity_history;
  bool draining = false;
};

}  // namespace sluice::api
