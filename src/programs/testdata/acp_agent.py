"""An agent that speaks the Agent Client Protocol as a real one does, and does what its prompt says, line by line:
say WORDS, run COMMAND (asked about), remember WORDS, recall, and what no agent
should: babble, flood BYTES, fork SECONDS, vanish CODE. What it remembers is a file of its session in its home."""
import json
import os
import subprocess
import sys

HOME = os.environ["HOME"]
LAST_ID = 1000


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def receive():
    line = sys.stdin.readline()
    return json.loads(line) if line else None


def ask(method, params):
    global LAST_ID
    LAST_ID += 1
    send({"id": LAST_ID, "method": method, "params": params})
    while True:
        message = receive()
        if message is None:
            sys.exit(0)
        if message.get("id") == LAST_ID:
            return message["result"]


def update(session, **what):
    send({"method": "session/update", "params": {"sessionId": session, "update": what}})


def run(session, number, command):
    call = f"call-{number}"
    update(session, sessionUpdate="tool_call", toolCallId=call, title="execute", kind="execute", status="pending",
           rawInput={"command": command})
    outcome = ask("session/request_permission", {
        "sessionId": session, "toolCall": {"toolCallId": call, "title": "execute", "rawInput": {"command": command}},
        "options": [{"optionId": "yes", "name": "Allow", "kind": "allow_once"},
                    {"optionId": "no", "name": "Reject", "kind": "reject_once"}]})["outcome"]
    if outcome.get("optionId") != "yes":
        update(session, sessionUpdate="tool_call_update", toolCallId=call, status="failed",
               content=[{"type": "content", "content": {"type": "text", "text": "not allowed"}}])
        return
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    update(session, sessionUpdate="tool_call_update", toolCallId=call, status="completed",
           content=[{"type": "content", "content": {"type": "text", "text": done.stdout + done.stderr}}])


def work(session, prompt):
    path = f"{HOME}/{session}.txt"
    for number, line in enumerate(prompt.splitlines()):
        verb, _, rest = line.partition(" ")
        if verb == "say":
            update(session, sessionUpdate="agent_message_chunk", content={"type": "text", "text": rest})
        elif verb == "run":
            run(session, number, rest)
        elif line.startswith("Your call of the tool"):  # a human agreed to it: as a model would, it does it again
            run(session, number, json.loads(line[line.index("{"):])["command"])
        elif verb == "babble":
            sys.stdout.buffer.write(b"\x00\xff {half a line\n[]\n{}\n")
        elif verb == "flood":
            sys.stdout.write("x" * int(rest) + "\n")
        elif verb == "fork":  # what it leaves behind holds its pipes open
            subprocess.Popen(["sleep", rest], start_new_session=True)
        elif verb == "vanish":
            sys.stdout.flush()
            os._exit(int(rest))
        elif verb == "remember":
            with open(path, "a", encoding="utf-8") as kept:
                kept.write(rest)
        elif verb == "recall":
            with open(path, encoding="utf-8") as kept:
                update(session, sessionUpdate="agent_message_chunk", content={"type": "text", "text": kept.read()})


def main():
    os.makedirs(HOME, exist_ok=True)
    while (message := receive()) is not None:
        method, params = message.get("method"), message.get("params", {})
        if method == "initialize":
            send({"id": message["id"], "result": {
                "protocolVersion": 1, "agentCapabilities": {"sessionCapabilities": {"resume": {}}}}})
        elif method == "session/new":
            send({"id": message["id"], "result": {"sessionId": "tiny-1"}})
        elif method == "session/resume":
            send({"id": message["id"], "result": {}})
        elif method == "session/prompt":
            work(params["sessionId"], params["prompt"][-1]["text"])
            send({"id": message["id"], "result": {"stopReason": "end_turn"}})


main()
