"""Requests about workflows for test_openapi.py: each operation with the answers it may give."""
WORKFLOWS = "/api/workspaces/{workspace}/workflows"
WORKFLOW, RUNS = WORKFLOWS + "/{workflow}", "/api/workspaces/{workspace}/workflow-runs"
NO_WORKFLOW, NO_RUN = WORKFLOWS + "/wfl_{none}", RUNS + "/wfr_{none}"
DEFINITION = {"inputs": [{"name": "who", "type": "text", "default": "you"}],
              "blocks": [{"id": "greet", "type": "inference", "prompt": "say Hello, {{inputs.who}}!"},
                         {"id": "is_you", "type": "condition", "left": "{{inputs.who}}", "op": "eq", "right": "you"}],
              "edges": [{"from": "greet", "to": "is_you"}], "outputs": {"text": "{{blocks.greet.response}}"}}
SLOW = {"blocks": [{"id": "wait", "type": "inference", "prompt": "sleep 600000"}]}


def make_workflows(client, workspace):
    """Some, a run that is over and one to cancel."""
    where = f"/api/workspaces/{workspace}/workflows"
    things = {name: client.post(where, {"name": name, "definition": definition}).json()["id"]
              for name, definition in (("workflow", DEFINITION), ("workflow_slow", SLOW), ("workflow_to_delete", SLOW))}
    over = client.post(f"{where}/{things['workflow']}/runs", {})
    slow = client.post(f"{where}/{things['workflow_slow']}/runs", {}, headers={"Prefer": "respond-async"})
    return things | {"workflow_run": over.header("x-workflow-run-id"), "workflow_run_to_cancel": slow.json()["id"]}


EXAMPLES = {
    "listWorkflows": [(WORKFLOWS + "?limit=1", None, 200), (WORKFLOWS + "?limit=0", None, 422)],
    "createWorkflow": [
        (WORKFLOWS, {"name": "another", "definition": DEFINITION}, 201),
        (WORKFLOWS, {"name": "another", "definition": DEFINITION}, 409),
        (WORKFLOWS, b"{", 400),
        (WORKFLOWS, b"x" * 5_000_000, 413),
        (WORKFLOWS, {"name": "x"}, 415, {"Content-Type": "text/plain"}),
        (WORKFLOWS, {"name": "x", "definition": {"blocks": []}}, 422)],
    "getWorkflow": [(WORKFLOW, None, 200), (NO_WORKFLOW, None, 404)],
    "updateWorkflow": [
        (WORKFLOW, {"description": "What it does."}, 200),
        (WORKFLOW, {"name": "workflow_slow"}, 409),
        (WORKFLOW, {"definition": {}}, 422),
        (NO_WORKFLOW, {}, 404)],
    "deleteWorkflow": [(WORKFLOWS + "/{workflow_to_delete}", None, 204), (WORKFLOWS + "/{workflow_to_delete}", None, 404)],
    "startWorkflowRun": [
        (WORKFLOW + "/runs", {"inputs": {"who": "Ann"}}, 200),
        (WORKFLOW + "/runs?profile=extended", {}, 200),
        (WORKFLOW + "/runs", {}, 202, {"Prefer": "respond-async"}),
        (WORKFLOW + "/runs", b"{", 400),
        (WORKFLOW + "/runs", {"inputs": {"who": 1}}, 422),
        (NO_WORKFLOW + "/runs", {}, 404)],
    "listWorkflowRuns": [(WORKFLOW + "/runs", None, 200), (WORKFLOW + "/runs?limit=x", None, 422)],
    "getWorkflowRun": [
        (RUNS + "/{workflow_run}", None, 200), (RUNS + "/{workflow_run_to_cancel}", None, 200), (NO_RUN, None, 404)],
    "streamWorkflowRun": [
        (RUNS + "/{workflow_run}/events", None, 200),
        (RUNS + "/{workflow_run}/events?after=1&profile=extended", None, 200),
        (RUNS + "/{workflow_run}/events?after=-1", None, 422),
        (NO_RUN + "/events", None, 404)],
    "cancelWorkflowRun": [
        (RUNS + "/{workflow_run_to_cancel}/cancel", {}, 200),
        (RUNS + "/{workflow_run}/cancel", {}, 409),
        (NO_RUN + "/cancel", {}, 404)],
}
