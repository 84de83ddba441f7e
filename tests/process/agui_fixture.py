"""An AG-UI client of each kind, with as little of it as the wire needs."""
import itertools

from agui_grammar import check, frames
from gate_fixture import GateTest

PEERS = ("current", "old", "tanstack")
NUMBERS = itertools.count(1)


def body_of(peer, thread, run, messages, **more):
    body = {"threadId": thread, "runId": run, "messages": messages, "state": {}, "tools": [], "context": [],
            "forwardedProps": {}} | more
    if peer == "current":
        body["protocolVersion"] = "1.0"
    if peer == "tanstack":
        body["data"] = {}
    return body


def user(text):
    return {"id": f"user-{next(NUMBERS)}", "role": "user", "content": text}


class AguiTest(GateTest):
    flags = ("--sandbox.driver", "namespaces")
    path = "/agui"

    def names(self):
        number = next(NUMBERS)
        return f"thread-{self.id().rsplit('.', 1)[-1]}-{number}", f"run-{number}"

    def post(self, body, headers=None, path=None):
        extra = {"X-Run-Id": body["runId"]} if "data" in body else {"Accept": "text/event-stream"}
        return self.client.open("POST", path or self.path, body, extra | (headers or {}))

    def stream(self, body, headers=None, path=None):
        """All frames of a run: (id, event), whose events keep the rules."""
        answer = self.post(body, headers, path)
        with answer.connection:
            self.assertEqual(answer.status, 200, answer.body[:600] if answer.status != 200 else "")
            self.assertEqual(answer.header("content-type"), "text/event-stream")
            return list(frames(answer.lines()))

    def run_text(self, text, peer="current", thread=None, run=None, **more):
        made_thread, made_run = self.names()
        framed = self.stream(body_of(peer, thread or made_thread, run or made_run, [user(text)], **more))
        return check([event for _, event in framed])
