#include "tools/egress_approval.h"

#include "vault/vault.h"

namespace sluice::tools {
namespace {

std::string lack_of(const egress::Question& question) {
  return question.alias.empty() ? "Requests to " + question.host + " must be allowed by a human"
                                : vault::placeholder(question.alias) + " is not on file";
}

}  // namespace

ApprovalRequest approval_request_for(const egress::Question& question) {
  if (question.alias.empty()) {
    return {.reason = question.reason.empty() ? "A request to " + question.host + " must be allowed by a human."
                                              : question.reason,
            .items = {{.description = "Requests to " + question.host +
                                      ", until this run ends: with any method and any content, to any port that the "
                                      "agent's policy names. The first one: " +
                                      question.method + ".",
                       .hosts = {question.host}}}};
  }
  return {.reason = "A request to " + question.host + " uses " + vault::placeholder(question.alias) +
                    ", which is not on file.",
          .items = {{.kind = model::ItemKind::secret,
                     .description = "Secret for " + question.method + " requests to " + question.host,
                     .alias = question.alias,
                     .hosts = {question.host},
                     .places = static_cast<uint8_t>(model::places_by_default | question.place)}}};
}

std::string unasked_words(const egress::Question& question) {
  return lack_of(question) +
         (question.alias.empty() ? ", and none can be asked." : ", and no human can be asked for it.");
}

std::string untimely_words(const egress::Question& question, std::string_view when) {
  return lack_of(question) + (question.alias.empty() ? ", who is asked only " + std::string(when) + "."
                                                     : ": ask for it with request_secret before.");
}

}  // namespace sluice::tools
