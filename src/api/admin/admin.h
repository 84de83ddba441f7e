// The operator's surface: tenants, their keys, cancelling their runs, the audit chain, nodes and the vault's key.
#pragma once

#include "api/request/route.h"

namespace sluice::api::admin {

void list_tenants(const RequestPtr& request);
void create_tenant(const RequestPtr& request);
void get_tenant(const RequestPtr& request);
void update_tenant(const RequestPtr& request);

void list_service_keys(const RequestPtr& request);
void create_service_key(const RequestPtr& request);
void revoke_service_key(const RequestPtr& request);

void list_approver_keys(const RequestPtr& request);
void create_approver_key(const RequestPtr& request);
void revoke_approver_key(const RequestPtr& request);

void get_webhook_secret(const RequestPtr& request);
void list_audit(const RequestPtr& request);
void verify_audit(const RequestPtr& request);
void rotate_vault(const RequestPtr& request);
void list_nodes(const RequestPtr& request);

void cancel_run(const RequestPtr& request);

}  // namespace sluice::api::admin
