#include "api/executions/redemption.h"

#include <algorithm>

#include "api/executions/executions.h"
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

void refuse_token(const RequestPtr& request) {
  constexpr std::string_view detail = "This token is used, expired, of another execution, or none at all.";
  if (!request->header("Authorization")) return request->problem(model::Slug::token_invalid, detail);
  request->turn_away(model::Slug::token_invalid, detail);
}

void refuse(const RequestPtr& request, const Error& error) {
  error.kind == ErrorKind::denied ? refuse_token(request) : request->fail(error);
}

bool has_token(const RequestPtr& request) {
  const auto token = request->header("Authorization").value_or("");
  const bool fine = !token.empty() && token.size() <= token_chars_max && !request->is_repeated("Authorization") &&
                    std::ranges::all_of(token, [](char c) { return c > ' ' && c <= '~'; }) &&
                    request->path_id<model::ExecutionId>().has_value();
  if (!fine) refuse_token(request);
  return fine;
}

void check_head(const RequestPtr& request) {
  const auto access = request->route()->access;
  if (access == Access::bearer) {
    return with_bearer(request, [request](const model::Execution&) { request->let_in(request); });
  }
  if (!has_token(request)) return;
  store::check_token(request->database(), *request->path_id<model::ExecutionId>(), purpose_of(access),
                     sha256(*request->header("Authorization")), request->now(), [request](const Result<Unit>& good) {
                       good ? request->let_in(request) : refuse(request, good.error());
                     });
}

void redeem(const RequestPtr& request, Callback<void(model::Execution)> then) {
  const auto execution = request->path_id<model::ExecutionId>();
  store::redeem(request->database(), *execution, purpose_of(request->route()->access),
                sha256(*request->header("Authorization")), request->now(),
                [request, then = std::move(then)](Result<store::Redeemed> redeemed) mutable {
                  if (!redeemed) return refuse(request, redeemed.error());
                  request->exchange().trust_caller();
                  then(std::move(redeemed.value().execution));
                });
}

void with_bearer(const RequestPtr& request, Callback<void(model::Execution)> then) {
  const auto wanted = request->path_id<model::ExecutionId>();
  if (!wanted || request->is_repeated("Authorization")) return refuse_token(request);
  request->services().authentication.identify(
      request->header("Authorization"), [request, wanted, then = std::move(then)](Result<Identity> identity) mutable {
        if (!identity) return request->fail(identity.error());
        auto* sandbox = std::get_if<SandboxCaller>(&identity.value());
        if (sandbox == nullptr || !sandbox->execution || sandbox->execution->id != *wanted)
          return refuse_token(request);
        request->exchange().trust_caller();
        then(*std::move(sandbox->execution));
      });
}

}  // namespace sluice::api::executions
