"""LangGraph's JavaScript server. What npm has is the server for development: everything in memory, written to files
when nothing was asked for three seconds. The server with PostgreSQL needs a licence and cannot be had here."""
import json

from contender import HERE
from peers.peer import NpmPackage, Peer, Stream, node_runtime_bytes

FOLDER = HERE / "peers" / "langgraph"
RUN = {"assistant_id": "agent", "stream_mode": ["messages-tuple"], "stream_resumable": True, "on_disconnect": "continue"}


class LangGraph(Peer):
    name = "LangGraph"
    dialect = "langgraph"
    package = NpmPackage(FOLDER)
    most_held = 100
    note = ("the server for development, the only one npm has: state in memory, written to files after 3 quiet seconds; "
            "weighed with 100 open streams")

    def command(self):
        return ["node", FOLDER / "server.mjs", self.home, str(self.slots)]

    def environment(self):
        return {"LOG_LEVEL": "error"}

    def install(self):
        self.package.install()

    def version(self):
        return "langgraph-api " + json.loads((FOLDER / "package.json").read_text())["dependencies"]["@langchain/langgraph-api"]

    def installed_bytes(self):
        return node_runtime_bytes() + self.package.bytes()

    def create(self):
        return self.call("POST", "/threads", {})["thread_id"]

    def begin(self, conversation, content):
        body = {**RUN, "input": {"messages": [{"role": "user", "content": content}]}}
        answer = self.request("POST", f"/threads/{conversation}/runs/stream", body)
        stream = Stream(answer, '"type":"ai"')
        stream.run = answer.getheader("Content-Location", "").rsplit("/", 1)[-1]
        return stream

    def answer(self, conversation):
        messages = self.call("GET", f"/threads/{conversation}/state")["values"].get("messages", [])
        return messages[-1]["content"] if messages and messages[-1]["type"] == "ai" else None

    def again(self, conversation, stream):
        path = f"/threads/{conversation}/runs/{stream.run}/stream"
        return Stream(self.request("GET", path, headers={"Last-Event-ID": "-1"}), '"type":"ai"')
