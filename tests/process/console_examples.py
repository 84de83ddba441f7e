"""Requests of the console for test_openapi.py: each operation with the answers it may give."""
SESSION = "/console/session"

EXAMPLES = {
    "openConsoleSession": [
        (SESSION, lambda things: {"key": things["service_key"]}, 200),
        (SESSION, b"{", 400),
        (SESSION, {"code": "wrong"}, 401),
        (SESSION, {"key": "sk_int_x"}, 403, {"Origin": "https://elsewhere.example"}),
        (SESSION, {"key": "sk_int_x"}, 415, {"Content-Type": "text/plain"}),
        (SESSION, {}, 422)],
    "getConsoleSession": [
        (SESSION, None, 200, {"Cookie": "{cookie}"}),
        (SESSION, None, 401)],
    "updateConsoleSession": [
        (SESSION, lambda things: {"tenantId": things["tenant"]}, 200, {"Cookie": "{cookie}", "X-CSRF-Token": "{csrf}"}),
        (SESSION, {"tenantId": None}, 200, {"Cookie": "{cookie}", "X-CSRF-Token": "{csrf}"}),
        (SESSION, {}, 401),
        (SESSION, {}, 403, {"Cookie": "{cookie}"}),
        (SESSION, {"tenantId": "tnt_" + "0" * 26}, 404, {"Cookie": "{cookie}", "X-CSRF-Token": "{csrf}"}),
        (SESSION, {}, 422, {"Cookie": "{cookie}", "X-CSRF-Token": "{csrf}"})],
    "closeConsoleSession": [
        (SESSION, None, 403, {"Cookie": "{cookie}"}),
        (SESSION, None, 204, {"Cookie": "{cookie}", "X-CSRF-Token": "{csrf}"}),
        (SESSION, None, 204)],
    "getConsole": [("/console", None, 200)],
    "getConsolePage": [("/console/runs", None, 200)],
    "getConsoleAsset": [("/console/assets/none.js", None, 404)],
    "createConsoleCode": [("/v1/admin/console-codes", None, 201)],
    "getRunTimeline": [
        ("/v1/runs/{run}/timeline", None, 200),
        ("/v1/runs/{running}/timeline", None, 200),
        ("/v1/runs/run_{none}/timeline", None, 404)],
    "getCapacityHistory": [("/v1/capacity/history", None, 200)],
}


def make_session(test):
    """Of the operator."""
    opened = test.server.client("").post("/console/session", {"key": test.server.bootstrap["admin_key"]})
    return {"cookie": opened.header("set-cookie").split(";")[0], "csrf": opened.json()["csrfToken"],
            "service_key": test.server.bootstrap["service_key"]}
