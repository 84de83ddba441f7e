"""Calls for every operation of openapi/openapi.yaml: (path, body, the status it must get).

Names in braces are things that test_openapi.py has made before; {none} is an id that nothing has.
"""
CONVERSATION, MESSAGES = "/v1/conversations/{conversation}", "/v1/conversations/{conversation}/messages"
AGENT, TENANT = "/v1/agents/{agent}", "/v1/tenants/{tenant}"
KEYS, APPROVERS = "/v1/tenants/{tenant}/keys", "/v1/tenants/{tenant}/approver-keys"
TOO_LARGE = b"x" * (4 * 1024 * 1024 + 1)
ELSEWHERE = {"provider": "openai-chat", "name": "m", "base_url": "http://127.0.0.1:9/v1"}
PUBLIC_KEY = "A" * 43  # 32 bytes in base64url

EXAMPLES = {
    "listConversations": [
        ("/v1/conversations", None, 200),
        ("/v1/conversations?user_id=ana&limit=5", None, 200),
        ("/v1/conversations?limit=0", None, 422)],
    "createConversation": [
        ("/v1/conversations", {"title": "T"}, 201),
        ("/v1/conversations", {"initial_message": {"content": "say hi"}}, 200),
        ("/v1/conversations", {"title": 1}, 422),
        ("/v1/conversations", b"{", 400),
        ("/v1/conversations", TOO_LARGE, 413)],
    "getConversation": [
        (CONVERSATION, None, 200),
        ("/v1/conversations/con_{none}", None, 404)],
    "updateConversation": [
        (CONVERSATION, {"title": "U"}, 200),
        (CONVERSATION, {"status": "gone"}, 422),
        (CONVERSATION, b"", 400),
        ("/v1/conversations/con_{none}", {}, 404)],
    "archiveConversation": [
        ("/v1/conversations/{archived}", None, 204),
        ("/v1/conversations/con_{none}", None, 404)],
    "listMessages": [
        (MESSAGES, None, 200),
        (MESSAGES + "?order=up", None, 422),
        ("/v1/conversations/con_{none}/messages", None, 404)],
    "createMessage": [
        (MESSAGES, {"content": "say streamed"}, 200),
        (MESSAGES, {"content": "say half\ncut"}, 200),
        (MESSAGES + "?stream=false", {"content": "say whole"}, 201),
        (MESSAGES + "?stream=false", {"content": "fail 400 no"}, 502),
        (MESSAGES, {}, 422),
        (MESSAGES, b"[", 400),
        (MESSAGES, TOO_LARGE, 413),
        ("/v1/conversations/{archived}/messages", {"content": "x"}, 409),
        ("/v1/conversations/con_{none}/messages", {"content": "x"}, 404)],
    "getMessage": [
        ("/v1/messages/{message}", None, 200),
        ("/v1/messages/msg_{none}", None, 404)],
    "streamMessageEvents": [
        ("/v1/messages/{message}/events", None, 200),
        ("/v1/messages/{message}/events?after=1", None, 200),
        ("/v1/messages/{message}/events?after=999", None, 422),
        ("/v1/messages/msg_{none}/events", None, 404)],
    "listRuns": [
        ("/v1/runs", None, 200),
        ("/v1/runs?conversation_id={conversation}", None, 200),
        ("/v1/runs?limit=0", None, 422)],
    "getRun": [
        ("/v1/runs/{run}", None, 200),
        ("/v1/runs/run_{none}", None, 404)],
    "cancelRun": [
        ("/v1/runs/{running}/cancel", {}, 200),
        ("/v1/runs/{run}/cancel", {}, 409),
        ("/v1/runs/run_{none}/cancel", {}, 404)],
    "cancelTenantRun": [
        ("/v1/tenants/{own_tenant}/runs/{running_too}/cancel", {}, 200),
        ("/v1/tenants/{own_tenant}/runs/{run}/cancel", {}, 409),
        ("/v1/tenants/{tenant}/runs/{run}/cancel", {}, 404)],
    "listAgents": [
        ("/v1/agents", None, 200),
        ("/v1/agents?limit=0", None, 422)],
    "createAgent": [
        ("/v1/agents", {"name": "A", "model": ELSEWHERE}, 201),
        ("/v1/agents", {"name": "A"}, 409),
        ("/v1/agents", {}, 422),
        ("/v1/agents", b"nope", 400)],
    "getAgent": [
        (AGENT, None, 200),
        ("/v1/agents/agt_{none}", None, 404)],
    "updateAgent": [
        (AGENT, {"system_prompt": "Be kind."}, 200),
        (AGENT, {"name": "A"}, 409),
        (AGENT, {"name": ""}, 422),
        ("/v1/agents/agt_{none}", {}, 404)],
    "deleteAgent": [
        (AGENT, None, 204),
        ("/v1/agents/agt_{none}", None, 404)],
    "getIntegrationSelf": [
        ("/v1/integration/self", None, 200)],
    "listTenants": [
        ("/v1/tenants", None, 200),
        ("/v1/tenants?limit=0", None, 422)],
    "createTenant": [
        ("/v1/tenants", {"name": "T", "settings": {"filler_enabled": True}}, 201),
        ("/v1/tenants", {}, 422),
        ("/v1/tenants", b"{", 400)],
    "getTenant": [
        (TENANT, None, 200),
        ("/v1/tenants/tnt_{none}", None, 404)],
    "updateTenant": [
        (TENANT, {"name": "U"}, 200),
        (TENANT, {"status": "x"}, 422),
        ("/v1/tenants/tnt_{none}", {}, 404)],
    "listServiceKeys": [
        (KEYS, None, 200),
        ("/v1/tenants/tnt_{none}/keys", None, 404)],
    "createServiceKey": [
        (KEYS, {"name": "second"}, 201),
        (KEYS, {"name": 1}, 422),
        ("/v1/tenants/tnt_{none}/keys", {}, 404)],
    "revokeServiceKey": [
        (KEYS + "/{key}", None, 200),
        (KEYS + "/key_{none}", None, 404)],
    "listApproverKeys": [
        (APPROVERS, None, 200),
        ("/v1/tenants/tnt_{none}/approver-keys", None, 404)],
    "createApproverKey": [
        (APPROVERS, {"algorithm": "hmac-sha256"}, 201),
        (APPROVERS, {"algorithm": "ed25519", "public_key": PUBLIC_KEY}, 201),
        (APPROVERS, {"algorithm": "ed25519", "public_key": PUBLIC_KEY[:-1]}, 422),
        (APPROVERS, {"algorithm": "ed25519"}, 422),
        (APPROVERS, {"algorithm": "rot13"}, 422)],
    "revokeApproverKey": [
        (APPROVERS + "/{approver}", None, 200),
        (APPROVERS + "/apk_{none}", None, 404)],
    "getHealth": [("/healthz", None, 200)],
    "getReadiness": [("/readyz", None, 200)],
    "getMetrics": [("/metrics", None, 200)],
    "listProblems": [("/problems", None, 200)],
    "getProblem": [
        ("/problems/not-found", None, 200),
        ("/problems/no-such-slug", None, 404)],
    "getOpenapi": [("/openapi.yaml", None, 200)],
    "getHome": [("/", None, 200)],
}
