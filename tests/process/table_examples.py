"""Requests about tables and model endpoints for test_openapi.py: each operation with the answers it may give."""
TABLES = "/api/workspaces/{workspace}/tables"
TABLE, NO_TABLE = TABLES + "/cities", TABLES + "/nowhere"
COLUMNS = [{"name": "city", "type": "text", "required": True}, {"name": "size", "type": "number"},
           {"name": "seen", "type": "timestamp"}, {"name": "more", "type": "json"}]


def make_tables(client, workspace):
    """One with rows, to keep; one to delete; and a row of each fate."""
    where = f"/api/workspaces/{workspace}/tables"
    for name in ("cities", "to_delete"):
        client.post(where, {"name": name, "columns": COLUMNS})
    rows = client.post(where + "/cities/rows", {"rows": [{"city": "Rome", "size": 2.8}, {"city": "Oslo"}]}).json()["rows"]
    for name in ("kept", "to_delete_", "to_delete_workspace"):
        client.post("/v1/model-endpoints", {"name": name, "provider": "offline"})
    return {"row": rows[0]["id"], "row_to_delete": rows[1]["id"]}


def endpoint_examples(prefix, where, doomed):
    all_of_them, one, none = where + "/model-endpoints", where + "/model-endpoints/kept", where + "/model-endpoints/none"
    name = "by workspace" if prefix else "plain"
    return {
        f"list{prefix}ModelEndpoints": [(all_of_them, None, 200), (all_of_them + "?limit=0", None, 422)],
        f"create{prefix}ModelEndpoint": [
            (all_of_them, {"name": name, "provider": "openai-chat", "base_url": "http://127.0.0.1:9/v1",
                           "key_alias": "LAB_KEY", "models": ["small"]}, 201),
            (all_of_them, {"name": name, "provider": "offline"}, 409),
            (all_of_them, b"{", 400),
            (all_of_them, {"name": "x"}, 415, {"Content-Type": "text/plain"}),
            (all_of_them, {"name": "x", "provider": "none"}, 422)],
        f"get{prefix}ModelEndpoint": [(one, None, 200), (none, None, 404)],
        f"update{prefix}ModelEndpoint": [
            (one, {"models": ["offline"]}, 200), (one, {"name": doomed}, 409), (one, {"key_alias": "x"}, 422),
            (none, {}, 404)],
        f"delete{prefix}ModelEndpoint": [(f"{all_of_them}/{doomed}", None, 204), (f"{all_of_them}/{doomed}", None, 404)],
    }


EXAMPLES = {
    "listTables": [(TABLES, None, 200), (TABLES + "?limit=x", None, 422)],
    "createTable": [
        (TABLES, {"name": "towns", "columns": COLUMNS}, 201),
        (TABLES, {"name": "towns", "columns": COLUMNS}, 409),
        (TABLES, b"{", 400),
        (TABLES, {"name": "x"}, 415, {"Content-Type": "text/plain"}),
        (TABLES, {"name": "x", "columns": []}, 422)],
    "getTable": [(TABLE, None, 200), (NO_TABLE, None, 404)],
    "updateTable": [
        (TABLE, {"add_columns": [{"name": "note", "type": "text"}]}, 200), (TABLE, {"name": "towns"}, 409),
        (TABLE, {"name": ""}, 422), (NO_TABLE, {}, 404)],
    "deleteTable": [(TABLES + "/to_delete", None, 204), (TABLES + "/to_delete", None, 404)],
    "listTableRows": [(TABLE + "/rows?limit=1", None, 200), (NO_TABLE + "/rows", None, 404), (TABLE + "/rows?limit=0", None, 422)],
    "insertTableRows": [
        (TABLE + "/rows", {"rows": [{"city": "Bonn", "seen": "2026-01-31T12:00:00Z", "more": {"a": [1]}}]}, 201),
        (TABLE + "/rows", {"rows": [{"size": 1}]}, 422), (NO_TABLE + "/rows", {"rows": [{}]}, 404)],
    "updateTableRow": [
        (TABLE + "/rows/{row}", {"size": None}, 200), (TABLE + "/rows/{row}", {"size": "x"}, 422),
        (TABLE + "/rows/row_{none}", {}, 404)],
    "deleteTableRow": [(TABLE + "/rows/{row_to_delete}", None, 204), (TABLE + "/rows/{row_to_delete}", None, 404)],
    "queryTableRows": [
        (TABLE + "/query", {}, 200),
        (TABLE + "/query", {"filter": {"or": [{"column": "size", "op": "gt", "value": 1},
                                              {"not": {"column": "city", "op": "in", "value": ["Oslo"]}}]},
                            "order": [{"column": "city", "direction": "desc"}], "columns": ["city"], "limit": 1}, 200),
        (TABLE + "/query", {"filter": {"column": "none", "op": "eq", "value": 1}}, 422),
        (NO_TABLE + "/query", {}, 404)],
}
EXAMPLES |= endpoint_examples("", "/v1", "to_delete_")
EXAMPLES |= endpoint_examples("Workspace", "/api/workspaces/{workspace}", "to_delete_workspace")
