// The operator's surface: tenants, their keys, a way to stop their runs, the audit chain and the vault's key.
#pragma once

#include "api/routes.h"

namespace sluice::api::admin {

void list_tenants(const Asked& asked);
void create_tenant(const Asked& asked);
void get_tenant(const Asked& asked);
void update_tenant(const Asked& asked);

void list_service_keys(const Asked& asked);
void create_service_key(const Asked& asked);
void revoke_service_key(const Asked& asked);

void list_approver_keys(const Asked& asked);
void create_approver_key(const Asked& asked);
void revoke_approver_key(const Asked& asked);

void get_webhook_secret(const Asked& asked);
void list_audit(const Asked& asked);
void verify_audit(const Asked& asked);
void rotate_vault(const Asked& asked);
void list_nodes(const Asked& asked);

void cancel_run(const Asked& asked);

}  // namespace sluice::api::admin
