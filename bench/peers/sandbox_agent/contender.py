"""Rivet's sandbox-agent: HTTP before agent programs that speak ACP. It has no agent of its own and stores nothing; the
nearest same job is its /v1/acp with an agent that answers at once, put where it looks for the agent called mock (as its
own tests do). Only the server is weighed, not the agent processes, one for each conversation."""
import json
import uuid

from contender import BINARY, HERE
from peers.peer import NpmPackage, Peer, Stream, free_port, wait_until_open

FOLDER = HERE / "peers" / "sandbox_agent"
PROGRAM = FOLDER / "node_modules" / "@sandbox-agent" / "cli-linux-x64" / "bin" / "sandbox-agent"
AGENT = BINARY.parent / "bench" / "instant_agent"


class SandboxAgent(Peer):
    name = "sandbox-agent"
    dialect = "acp"
    listening = None
    package = NpmPackage(FOLDER, built="@sandbox-agent/cli-linux-x64/bin/sandbox-agent")
    note = ("no agent loop and no store: a process that answers at once stands where its mock agent belongs; "
            "these processes, one a conversation, are not weighed")

    def start(self, slots=64):
        self.sessions, self.turns = {}, 0
        super().start(slots)

    def launch(self):
        place = self.home / "sandbox-agent" / "bin" / "agent_processes"
        place.mkdir(parents=True, exist_ok=True)
        if not (place / "mock-acp").exists():
            (place / "mock-acp").symlink_to(AGENT)
        self.port = free_port()
        super().launch()
        wait_until_open(self.port, self.process)

    def command(self):
        return [PROGRAM, "server", "--no-token", "--no-telemetry", "--port", str(self.port)]

    def environment(self):
        return {"HOME": str(self.home), "XDG_DATA_HOME": str(self.home), "RUST_LOG": "error"}

    def weighed(self):
        return [self.process.pid]

    def install(self):
        self.package.install()
        PROGRAM.chmod(0o755)  # its install script does that, and need not be run for it

    def version(self):
        return json.loads((FOLDER / "package.json").read_text())["dependencies"]["@sandbox-agent/cli"]

    def installed_bytes(self):
        return PROGRAM.stat().st_size

    def create(self):
        server = f"fate-{uuid.uuid4()}"
        self.call("POST", f"/v1/acp/{server}?agent=mock", rpc("i", "initialize", {"protocolVersion": 1, "clientCapabilities": {}}))
        made = self.call("POST", f"/v1/acp/{server}", rpc("n", "session/new", {"cwd": "/tmp", "mcpServers": []}))
        self.sessions[server] = made["result"]["sessionId"]
        return server

    def begin(self, conversation, content):
        feed = self.again(conversation, None)
        self.turns += 1
        prompt = {"sessionId": self.sessions[conversation], "prompt": [{"type": "text", "text": content}]}
        feed.also_close(self.send_only("POST", f"/v1/acp/{conversation}", rpc(self.turns, "session/prompt", prompt)))
        return feed

    def again(self, conversation, stream):
        return Stream(self.request("GET", f"/v1/acp/{conversation}"), '"agent_message_chunk"', '"stopReason"')


def rpc(number, method, params):
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
