"""An agent of the Agent Client Protocol whose words are the time: for the prompt `N MS` it says N of them, one each MS
milliseconds, each the moment of its writing by the machine's monotonic clock."""
import json
import os
import sys
import time


def send(text):
    os.write(1, b'{"jsonrpc":"2.0",' + text + b"}\n")


def work(prompt):
    count, interval = map(int, prompt.split())
    due = time.monotonic_ns()
    for _ in range(count):
        due += interval * 1_000_000
        time.sleep(max(0, due - time.monotonic_ns()) / 1e9)
        send(b'"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk",'
             b'"content":{"type":"text","text":"t%d@ "}}}' % time.monotonic_ns())


for line in sys.stdin:
    message = json.loads(line)
    method = message.get("method")
    if "id" not in message:
        continue
    result = {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}}
    if method == "session/new":
        result = {"sessionId": "s"}
    if method == "session/prompt":
        work(message["params"]["prompt"][-1]["text"])
        result = {"stopReason": "end_turn"}
    send(b'"id":%s,"result":%s' % (json.dumps(message["id"]).encode(), json.dumps(result).encode()))
