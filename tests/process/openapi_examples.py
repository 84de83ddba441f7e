"""Calls for every operation of openapi/openapi.yaml: (path, body, the status it must get, and perhaps headers).

Names in braces are things that test_openapi.py has made before; {none} is an id that nothing has. A body that can be
called is called with them.
"""
import assistant_examples
import console_examples
import file_examples
import table_examples
import workflow_examples

CONVERSATION, MESSAGES = "/v1/conversations/{conversation}", "/v1/conversations/{conversation}/messages"
AGENT, TENANT = "/v1/agents/{agent}", "/v1/tenants/{tenant}"
KEYS, APPROVERS = "/v1/tenants/{tenant}/keys", "/v1/tenants/{tenant}/approver-keys"
TOO_LARGE = b"x" * (4 * 1024 * 1024 + 1)
ELSEWHERE = {"provider": "openai-chat", "name": "m", "base_url": "http://127.0.0.1:9/v1"}
PUBLIC_KEY = "A" * 43  # 32 bytes in base64url
KIT = {"agent_type": "claude-code", "code_mode": True, "workspace": "read",
       "mcp_servers": [{"name": "crm", "url": "https://tools.example/mcp", "headers": {"X-Key": "{{secret:CRM_KEY}}"}},
                       {"name": "files", "command": ["npx", "files"], "environment": {"ROOT": "/workspace"}}],
       "tools": [{"name": "lookup", "description": "Looks it up.", "parameters": {"type": "object"},
                  "url": "https://tools.example/lookup", "timeout_seconds": 5}]}
RUNNER = {"Authorization": "Bearer {runner_key}"}
FORGED = {"signature": {"key_id": "apk_" + "0" * 26, "algorithm": "hmac-sha256", "exp": 1, "value": "AAAA"}}

EXAMPLES = {
    "listConversations": [
        ("/v1/conversations", None, 200),
        ("/v1/conversations?user_id=ana&limit=5", None, 200),
        ("/v1/conversations?limit=0", None, 422)],
    "createConversation": [
        ("/v1/conversations", {"title": "T"}, 201),
        ("/v1/conversations", {"initial_message": {"content": "say hi"}}, 200),
        ("/v1/conversations", {"runtime": {"agent_type": "codex"}}, 201),
        ("/v1/conversations", {"runtime": {"agent_type": "cursor"}}, 422),
        ("/v1/conversations", {"title": 1}, 422),
        ("/v1/conversations", b"{", 400),
        ("/v1/conversations", TOO_LARGE, 413)],
    "getConversation": [
        (CONVERSATION, None, 200),
        ("/v1/conversations/con_{none}", None, 404)],
    "updateConversation": [
        (CONVERSATION, {"title": "U"}, 200),
        (CONVERSATION, {"runtime": {"agent_type": "codex"}}, 422),
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
        (MESSAGES, {"content": "say more", "session_id": "0198-ab"}, 200),
        (MESSAGES, {"content": "say more", "session_id": "../x"}, 422),
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
        ("/v1/agents", {"name": "with a kit"} | KIT, 201),
        ("/v1/agents", {"name": "of one's own", "agent_type": "acp", "command": ["my-agent", "--acp"]}, 201),
        ("/v1/agents", {"name": "acp", "agent_type": "acp"}, 422),
        ("/v1/agents", {"name": "x", "tools": [{"name": "t", "url": "https://elsewhere.example"}]}, 422),
        ("/v1/agents", {"name": "A"}, 409),
        ("/v1/agents", {}, 422),
        ("/v1/agents", b"nope", 400)],
    "getAgent": [
        (AGENT, None, 200),
        ("/v1/agents/agt_{none}", None, 404)],
    "updateAgent": [
        (AGENT, {"system_prompt": "Be kind."}, 200),
        (AGENT, KIT, 200),
        (AGENT, {"agent_type": None, "mcp_servers": None, "tools": None, "code_mode": None, "workspace": None}, 200),
        (AGENT, {"agent_type": "cursor"}, 422),
        (AGENT, {"workspace": "all"}, 422),
        (AGENT, {"name": "A"}, 409),
        (AGENT, {"name": ""}, 422),
        ("/v1/agents/agt_{none}", {}, 404)],
    "deleteAgent": [
        ("/v1/agents/{agent_to_delete}", None, 204),
        ("/v1/agents/agt_{none}", None, 404)],
    "openDispatch": [
        ("/sandbox/stream?profile=extended", lambda things: things["dispatch"], 200, RUNNER),
        ("/sandbox/stream", b"{", 400, RUNNER),
        ("/sandbox/stream", lambda things: things["dispatch"] | {"prompt": "hi"}, 409,
         RUNNER | {"Sluice-Dispatch": "to_read", "Sluice-Reattach": "60"}),
        ("/sandbox/stream", {}, 422, RUNNER)],
    "attachDispatch": [
        ("/sandbox/stream/to_read", None, 200, RUNNER),
        ("/sandbox/stream/to_read?after=1", None, 200, RUNNER),
        ("/sandbox/stream/to_read?after=x", None, 422, RUNNER),
        ("/sandbox/stream/none", None, 404, RUNNER)],
    "killDispatch": [
        ("/sandbox/stream/to_kill", None, 204, RUNNER),
        ("/sandbox/stream/none", None, 404, RUNNER)],
    "acknowledgeDispatch": [
        ("/sandbox/stream/to_read/ack", {"line": 1}, 204, RUNNER),
        ("/sandbox/stream/to_read/ack", {"line": 1_000_000}, 422, RUNNER),
        ("/sandbox/stream/none/ack", {"line": 1}, 404, RUNNER)],
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
    "getWebhookSecret": [
        (TENANT + "/webhook-secret", None, 200),
        ("/v1/tenants/tnt_{none}/webhook-secret", None, 404)],
    "listAuditEntries": [
        ("/v1/admin/audit?limit=100", None, 200),
        ("/v1/admin/audit?tenant_id={own_tenant}&after=1&limit=1", None, 200),
        ("/v1/admin/audit?after=x", None, 422)],
    "verifyAudit": [("/v1/admin/audit/verify", {}, 200)],
    "listNodes": [("/v1/admin/nodes", None, 200)],
    "rotateVault": [("/v1/admin/vault/rotate", {}, 200)],
    "listApprovals": [
        ("/v1/approvals", None, 200),
        ("/v1/approvals?status=pending&limit=1", None, 200),
        ("/v1/approvals?status=x", None, 422)],
    "getApproval": [
        ("/v1/approvals/{approval_to_approve}", None, 200),
        ("/v1/approvals/apr_{none}", None, 404)],
    "approveApproval": [
        ("/v1/approvals/{approval_to_approve}/approve", {}, 422),
        ("/v1/approvals/{approval_to_approve}/approve", FORGED, 403),
        ("/v1/approvals/apr_{none}/approve", FORGED, 404),
        ("/v1/approvals/{approval_to_approve}/approve", lambda things: things["signed_approve"], 200),
        ("/v1/approvals/{approval_to_approve}/approve", lambda things: things["signed_approve"], 200)],
    "denyApproval": [
        ("/v1/approvals/{approval_to_deny}/deny", FORGED | {"secrets": {"A_KEY": "a good value"}}, 422),
        ("/v1/approvals/{approval_to_deny}/deny", lambda things: things["signed_approve"], 403),
        ("/v1/approvals/{approval_to_deny}/deny", lambda things: things["signed_deny"], 200),
        ("/v1/approvals/{approval_to_approve}/deny", lambda things: things["signed_deny_of_approved"], 409),
        ("/v1/approvals/apr_{none}/deny", FORGED, 404)],
    "listRunEgress": [
        ("/v1/runs/{run}/egress", None, 200),
        ("/v1/runs/{run}/egress?starting_after=x", None, 422),
        ("/v1/runs/run_{none}/egress", None, 404)],
    "getCapacity": [("/v1/capacity", None, 200)],
    "getHealth": [("/healthz", None, 200)],
    "getReadiness": [("/readyz", None, 200)],
    "getMetrics": [("/metrics", None, 200)],
    "listProblems": [("/problems", None, 200)],
    "getProblem": [
        ("/problems/not-found", None, 200),
        ("/problems/no-such-slug", None, 404)],
    "getOpenapi": [("/openapi.yaml", None, 200)],
    "getDocs": [("/docs", None, 200)],
    "getHome": [("/", None, 200)],
}

SKILL = {"files": [{"path": "SKILL.md", "content": "---\nname: example\ndescription: An example.\n---\n"}]}
FORM = (b'--b\r\nContent-Disposition: form-data; name="files"; filename="a.txt"\r\n\r\nhi\r\n'
        b'--b\r\nContent-Disposition: form-data; name="result"\r\n\r\n{"message": "done"}\r\n--b--\r\n')
FORM_TYPE = {"Content-Type": "multipart/form-data; boundary=b"}


def object_examples(prefix, where, one, many, made, wrong, change):
    """Of one kind of object: the names of its operations end in `one` and `many`."""
    path = f"{where}/{many.lower()}"
    there, gone = f"{path}/{{{one.lower()}}}", f"{path}/{{{one.lower()}_to_delete{prefix.lower()}}}"
    return {
        f"list{prefix}{many}": [(path, None, 200), (path + "?limit=0", None, 422)],
        f"create{prefix}{one}": [(path, made, 201), (path, made, 200 if one == "Skill" else 409), (path, wrong, 422),
                                 (path, b"{", 400)],
        f"get{prefix}{one}": [(there, None, 200), (there[:-len(one) - 2] + "x", None, 404)],
        **({f"replace{prefix}Skill": [(there, SKILL, 200), (there, wrong, 422)],
            f"get{prefix}SkillBundle": [(there + "/bundle", None, 200)]} if one == "Skill" else
           {f"update{prefix}{one}": [(there, change, 200), (there, {"name": ""}, 422)]}),
        f"delete{prefix}{one}": [(gone, None, 204), (gone, None, 404)],
    }


def secret_examples(noun, path, destroyed, nobody=None):
    some = {"secrets": {"A_KEY": "a good value", "B_KEY": {"value": "a good value", "hosts": ["api.example"], "places": ["header"]}}}
    gone = [(nobody, None, 404)] if nobody else []
    return {
        f"put{noun}Secrets": [(path, some, 200), (path, {"secrets": {"a": "a good value"}}, 422), (path, b"{", 400)],
        f"list{noun}Secrets": [(path, None, 200)] + gone,
        f"delete{noun}Secret": [(destroyed, None, 204), (destroyed, None, 404)],
    }


def callback_examples(noun, where):
    execution = where + "/{execution_" + noun.lower() + "}"
    token = {kind: {"Authorization": "{" + kind + "_" + noun.lower() + "}"} for kind in ("setup", "upload")}
    bearer = {"Authorization": "Bearer {bearer_" + noun.lower() + "}"}
    return {
        f"get{noun}Env": [(execution + "/env", None, 200, token["setup"]), (execution + "/env", None, 401, token["setup"])],
        f"get{noun}Config": [(where + "/{execution_of_kit_" + noun.lower() + "}/config", None, 200,
                              {"Authorization": "{run_of_kit_" + noun.lower() + "}"}),
                             (execution + "/config", None, 401, {"Authorization": "guess"})],
        f"list{noun}Skills": [(execution + "/skills", None, 200, bearer)],
        f"get{noun}Skill": [(execution + "/skills/{skill}", None, 200, bearer),
                            (execution + "/skills/skl_{none}", None, 404, bearer)],
        f"post{noun}Results": [(execution + "/results", b"{}", 415, token["upload"]),
                               (execution + "/results", b"x", 400, token["upload"] | FORM_TYPE),
                               (execution + "/results", FORM, 200, token["upload"] | FORM_TYPE)],
        f"post{noun}Assets": [(execution + "/assets/writeback", FORM, 401, token["upload"] | FORM_TYPE)],
    }


def agui_run(thread, run, words, **more):
    """AG-UI's RunAgentInput, as a client of 1.0 posts it."""
    return {"threadId": thread, "runId": run, "protocolVersion": "1.0", "state": {}, "tools": [], "context": [],
            "forwardedProps": {}, "messages": [{"id": "m1", "role": "user", "content": words}]} | more


def agui_examples(noun, path):
    """`talked`, `running` and `waiting` are threads with a run of the same name (test_openapi.py)."""
    talked, running, waiting = (word + noun for word in ("talked", "running", "waiting"))
    lines, back = {"Accept": "application/x-ndjson"}, {"Last-Event-ID": "never-3"}
    tool = {"name": "pick", "description": "Picks.", "parameters": {"type": "object"}}
    result = [{"id": "r1", "role": "tool", "toolCallId": "nobody's", "content": "x"}]
    return {
        f"startAguiRun{noun}": [
            (path, agui_run(talked, talked + "-2", "say hi"), 200),
            (path, agui_run(talked, talked + "-2", "say hi"), 200, {"Last-Event-ID": talked + "-2-1"}),
            (path, agui_run(talked, talked + "-3", "say hi", tools=[tool], context=[{"description": "d", "value": "v"}]),
             200, lines),
            (path, agui_run(talked, talked + "-4", "say hi", data={}), 200, {"X-Run-Id": talked + "-4"}),
            (path, b"{", 400),
            (path, agui_run(talked, "never", "say hi"), 404, back),
            (path, agui_run(running, "second", "say hi"), 409),
            (path, TOO_LARGE, 413),
            (path, agui_run(talked, "never", "say hi"), 415, {"Content-Type": "text/plain"}),
            (path, {}, 422),
            (path, agui_run(talked, "never", "", messages=result), 422),
            (path, lambda things: agui_run(waiting, "answer", "", resume=[things["answer" + noun]]), 403),
            (path, agui_run(waiting, "answer", "", resume=[{"interruptId": "x", "status": "cancelled"}]), 422)],
        f"findAguiRun{noun}": [
            (f"{path}?threadId={talked}", None, 200),
            (f"{path}?threadId={talked}&protocolVersion=1.0&limit=1", None, 200),
            (f"{path}?threadId={running}", None, 200),
            (f"{path}?threadId={waiting}", None, 200),
            (f"{path}?threadId=never", None, 200),
            (f"{path}?runId={talked}&offset=-1", None, 200),
            (f"{path}?runId={talked}&threadId={talked}&offset={talked}-1", None, 200, lines),
            (path, None, 400),
            (f"{path}?runId=never&offset=-1", None, 404),
            (f"{path}?runId={talked}&offset=x", None, 422)],
        f"cancelAguiRun{noun}": [
            (f"{path}?runId={running}&threadId={running}", None, 200),
            (f"{path}?runId=never", None, 404),
            (f"{path}?runId={talked}", None, 409),
            (path, None, 422)],
    }


for prefix, where in (("", "/v1"), ("Workspace", "/api/workspaces/{workspace}")):
    name = "by workspace" if prefix else "plain"
    EXAMPLES |= object_examples(prefix, where, "Repository", "Repositories",
                                {"name": name, "url": "https://git.example/x"}, {"name": name, "url": "file:///etc"},
                                {"ref": "main"})
    EXAMPLES |= object_examples(prefix, where, "Environment", "Environments", {"name": name, "variables": {"A": "1"}},
                                {"name": name, "variables": {"LD_PRELOAD": "x"}}, {"script": "true"})
    EXAMPLES |= object_examples(prefix, where, "Skill", "Skills",
                                {"files": [{"path": "SKILL.md", "content": "---\nname: " + name.replace(" ", "-") +
                                            "\ndescription: d\n---\n"}]}, {"files": []}, None)
EXAMPLES |= object_examples("Workspace", "/api/workspaces/{workspace}", "Agent", "Agents", {"name": "by workspace"}, {},
                            {"system_prompt": "Be kind."})
EXAMPLES |= secret_examples("Conversation", CONVERSATION + "/secrets", CONVERSATION + "/secrets/A_KEY",
                            "/v1/conversations/con_{none}/secrets")
EXAMPLES["putConversationSecrets"] += [("/v1/conversations/{archived}/secrets", {"secrets": {"A_KEY": "a good value"}}, 409)]
EXAMPLES |= secret_examples("Agent", "/v1/agents/{first_agent}/secrets", "/v1/agents/{first_agent}/secrets/TO_DESTROY",
                            "/v1/agents/agt_{none}/secrets")
EXAMPLES |= secret_examples("Tenant", "/v1/secrets", "/v1/secrets/TO_DESTROY")
EXAMPLES |= assistant_examples.EXAMPLES | console_examples.EXAMPLES | file_examples.EXAMPLES
EXAMPLES |= table_examples.EXAMPLES | workflow_examples.EXAMPLES
EXAMPLES |= agui_examples("", "/agui") | agui_examples("OfAgent", "/agui/{first_agent}")
EXAMPLES["startAguiRunOfAgent"] += [("/agui/nobody", agui_run("never", "never", "say hi"), 404)]
EXAMPLES |= callback_examples("Agent", "/api/agents") | callback_examples("Sandbox", "/api/assistant/sandbox")
EXAMPLES |= {
    "createExecution": [
        ("/api/workspaces/{workspace}/executions", {"prompt": "say hi", "skill_ids": ["{skill}"]}, 422),
        ("/api/workspaces/{workspace}/executions", {"prompt": "say hi"}, 201),
        ("/api/workspaces/wsp_{none}/executions", {}, 404)],
    "listExecutionFiles": [
        ("/api/workspaces/{workspace}/executions/{execution_agent}/files", None, 200),
        ("/api/workspaces/{workspace}/executions/exe_{none}/files", None, 404)],
    "listRunFiles": [("/v1/runs/{run}/files", None, 200), ("/v1/runs/run_{none}/files", None, 404)],
    "getFile": [("/v1/files/{file}", None, 200), ("/v1/files/fil_{none}", None, 404)],
    "getFileContent": [("/v1/files/{file}/content", None, 200), ("/v1/files/fil_{none}/content", None, 404)],
    "streamRunTrace": [
        ("/v1/runs/{run}/stream.jsonl", None, 200),
        ("/v1/runs/{run}/stream.jsonl?profile=extended", None, 200),
        ("/v1/runs/{run}/stream.jsonl?profile=x", None, 422),
        ("/v1/runs/run_{none}/stream.jsonl", None, 404)],
    "getRunSteps": [("/v1/runs/{run}/steps.json", None, 200), ("/v1/runs/run_{none}/steps.json", None, 404)],
    "getRunResult": [("/v1/runs/{run}/result.json", None, 200), ("/v1/runs/run_{none}/result.json", None, 404)],
}
