// What every handler works with: the rooms below, the words from the configuration, and what the
// surfaces themselves remember between two requests.
#pragma once

#include "api/answer_accounts.h"
#include "api/api.h"
#include "api/assets.h"
#include "api/assistant/turns.h"
#include "api/authentication.h"
#include "api/capacity_history.h"
#include "api/console/console.h"
#include "api/figures.h"
#include "api/open_answers.h"
#include "api/operations/reference.h"
#include "api/recorded_deeds.h"
#include "api/request_lines.h"

namespace sluice::api {

struct Surface {
  Surface(ApiNeeds its_needs, ApiOptions its_options)
      : needs(its_needs),
        options(std::move(its_options)),
        authentication(needs.store, needs.loop, options.admin_key_sha256, options.run_bearer_root),
        requests(options.request_rate),
        wrong_keys(options.wrong_key_rate),
        figures(needs.metrics),
        open_answers(needs.loop),
        turns({needs.engine, needs.store, needs.loop, needs.log}, Millis{options.leave_grace_ms}),
        console(needs.loop, needs.entropy, options.console_session_root, options.console_pack),
        capacity_history(needs.loop, needs.engine) {}

  ApiNeeds needs;
  ApiOptions options;
  Authentication authentication;
  TokenBuckets requests;    // of each key
  TokenBuckets wrong_keys;  // of each address
  AnswerAccounts answer_accounts;
  RecordedDeeds recorded_deeds;
  DeedCounts deed_counts;
  mutable RequestLines request_lines;  // net refuses requests without changing anything else
  Figures figures;
  OpenAnswers open_answers;
  assistant::Turns turns;
  console::Console console;
  Assets reference{operations::reference_pack()};
  SharedBytes openapi = std::make_shared<const std::string>(operations::openapi_text());
  CapacityHistory capacity_history;
  bool draining = false;
};

}  // namespace sluice::api
