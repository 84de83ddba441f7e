// Tables of a workspace: for people and for what runs in boxes.
#pragma once

#include "api/routes.h"

namespace sluice::api::tables {

void list_tables(const Asked& asked);
void create_table(const Asked& asked);
void get_table(const Asked& asked);
void update_table(const Asked& asked);
void delete_table(const Asked& asked);

void list_rows(const Asked& asked);
void insert_rows(const Asked& asked);
void update_row(const Asked& asked);
void delete_row(const Asked& asked);
void query_rows(const Asked& asked);

}  // namespace sluice::api::tables
