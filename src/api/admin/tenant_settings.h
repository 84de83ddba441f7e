// What the operator lets a tenant do, as it is written in requests.
#pragma once

#include <span>
#include <string>

#include "api/fields.h"
#include "store/store.h"

namespace sluice::api::admin {

// `settings`: what is left out is as in `before`; `null` puts everything back to where it began. Webhooks may go to
// `webhook_urls` only.
void read_settings(const Fields& fields, const model::Tenant& before, std::span<const std::string> webhook_urls,
                   store::TenantPatch& patch);

}  // namespace sluice::api::admin
