#include "api/executions/redemption.h"

#include <algorithm>

#include "base/digest.h"

namespace sluice::api::executions {
namespace {

constexpr std::size_t token_chars_max = 256;

model::TokenPurpose purpose_of(Access access) {
  switch (access) {
    case Access::setup_token: return model::TokenPurpose::setup;
    case Access::run_token: return model::TokenPurpose::run;
    default: break;
  }
  SLUICE_CHECK(access == Access::upload_token);
  return model::TokenPurpose::upload;
}

}  // namespace

void refuse_token(const Asked& asked) {
  constexpr std::string_view detail = "This token is used, expired, of another execution, or none at all.";
  if (!asked->header("Authorization")) return asked->problem(model::Slug::token_invalid, detail);
  asked->turn_away(model::Slug::token_invalid, detail);
}

void refuse(const Asked& asked, const Error& error) {
  error.kind == ErrorKind::denied ? refuse_token(asked) : asked->fail(error);
}

bool has_token(const Asked& asked) {
  const auto token = asked->header("Authorization").value_or("");
  const bool fine = !token.empty() && token.size() <= token_chars_max && !asked->is_repeated("Authorization") &&
                    std::ranges::all_of(token, [](char c) { return c > ' ' && c <= '~'; }) &&
                    asked->path_id<model::ExecutionId>().has_value();
  if (!fine) refuse_token(asked);
  return fine;
}

void check_head(const Asked& asked) {
  const auto access = asked->route()->access;
  if (access == Access::bearer) {
    return with_bearer(asked, [asked](const model::Execution&) { asked->let_in(asked); });
  }
  if (!has_token(asked)) return;
  asked->store().check_token(
      *asked->path_id<model::ExecutionId>(), purpose_of(access), sha256(*asked->header("Authorization")), asked->now(),
      [asked](const Result<Unit>& good) { good ? asked->let_in(asked) : refuse(asked, good.error()); });
}

void redeem(const Asked& asked, Callback<void(model::Execution)> then) {
  const auto execution = asked->path_id<model::ExecutionId>();
  asked->store().redeem(*execution, purpose_of(asked->route()->access), sha256(*asked->header("Authorization")),
                        asked->now(), [asked, then = std::move(then)](Result<store::Redeemed> redeemed) mutable {
                          if (!redeemed) return refuse(asked, redeemed.error());
                          asked->exchange().trust_caller();
                          then(std::move(redeemed.value().execution));
                        });
}

void with_bearer(const Asked& asked, Callback<void(model::Execution)> then) {
  const auto wanted = asked->path_id<model::ExecutionId>();
  if (!wanted || asked->is_repeated("Authorization")) return refuse_token(asked);
  asked->surface().authentication.identify(
      asked->header("Authorization"), [asked, wanted, then = std::move(then)](Result<Identity> identity) mutable {
        if (!identity) return asked->fail(identity.error());
        auto* guest = std::get_if<Guest>(&identity.value());
        if (guest == nullptr || !guest->execution || guest->execution->id != *wanted) return refuse_token(asked);
        asked->exchange().trust_caller();
        then(*std::move(guest->execution));
      });
}

}  // namespace sluice::api::executions
