// The tables of a workspace, for service keys and for sandboxes.
#pragma once

#include "api/request/route.h"

namespace sluice::api::tables {

void list_tables(const RequestPtr& request);
void create_table(const RequestPtr& request);
void get_table(const RequestPtr& request);
void update_table(const RequestPtr& request);
void delete_table(const RequestPtr& request);

void list_rows(const RequestPtr& request);
void insert_rows(const RequestPtr& request);
void update_row(const RequestPtr& request);
void delete_row(const RequestPtr& request);
void query_rows(const RequestPtr& request);

}  // namespace sluice::api::tables
