#include "api/executions/redemption.h"

#include <algorithm>

#include "base/digest.h"

namespace sluice::api::executions {
namespace {

constexpr std::size_t token_chars_max = 256;

}  // namespace

void refuse_token(const Asked& asked) {
  constexpr std::string_view detail = "This token is used, expired, of another execution, or none at all.";
  if (!asked->header("Authorization")) return asked->problem(model::Slug::token_invalid, detail);
  asked->turn_away(model::Slug::token_invalid, detail);
}

bool has_token(const Asked& asked) {
  const auto token = asked->header("Authorization").value_or("");
  const bool fine = !token.empty() && token.size() <= token_chars_max && !asked->is_repeated("Authorization") &&
                    std::ranges::all_of(token, [](char c) { return c > ' ' && c <= '~'; }) &&
                    asked->path_id<model::ExecutionId>().has_value();
  if (!fine) refuse_token(asked);
  return fine;
}

void redeem(const Asked& asked, model::TokenPurpose purpose, Callback<void(model::Execution)> then) {
  const auto execution = asked->path_id<model::ExecutionId>();
  asked->store().redeem(*execution, purpose, sha256(*asked->header("Authorization")), asked->now(),
                        [asked, then = std::move(then)](Result<store::Redeemed> redeemed) mutable {
                          if (redeemed) return then(std::move(redeemed.value().execution));
                          if (redeemed.error().kind == ErrorKind::denied) return refuse_token(asked);
                          asked->fail(redeemed.error());
                        });
}

}  // namespace sluice::api::executions
