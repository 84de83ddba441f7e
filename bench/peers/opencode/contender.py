"""OpenCode's server with a model on the loopback. A turn of it is more than the others do: a prompt of 30 KB with eleven
tools goes to the model, and the working directory is looked at."""
import json
import subprocess

from contender import HERE, OUTSIDE
from peers.peer import NpmPackage, Peer, Stream, read_port

FOLDER = HERE / "peers" / "opencode"
PROGRAM = FOLDER / "node_modules" / "opencode-linux-x64" / "bin" / "opencode"


class OpenCode(Peer):
    name = "OpenCode"
    dialect = "opencode"
    listening = r"listening on http://127\.0\.0\.1:(\d+)"
    package = NpmPackage(FOLDER, built="opencode-linux-x64/bin/opencode")
    most_held = 100
    note = ("a coding agent: each turn also sends a prompt of 30 KB with its tools; all sessions share one stream of events; "
            "weighed with 100 open streams")

    def __init__(self):
        super().__init__()
        self.model = None

    def launch(self):
        if self.model is None:
            self.model = subprocess.Popen(["node", HERE / "peers" / "model.mjs"], stdout=subprocess.PIPE, text=True,
                                          env=OUTSIDE, start_new_session=True)
            self.configure(read_port(self.model, r"listening on http://127\.0\.0\.1:(\d+)"))
        super().launch()

    def configure(self, model_port):
        (self.home / "work").mkdir()
        provider = {"npm": "@ai-sdk/openai-compatible", "name": "bench",
                    "options": {"baseURL": f"http://127.0.0.1:{model_port}/v1", "apiKey": "none"},
                    "models": {"instant": {"name": "instant", "limit": {"context": 100000, "output": 10000}}}}
        (self.home / "opencode.json").write_text(json.dumps({
            "provider": {"bench": provider}, "model": "bench/instant", "small_model": "bench/instant",
            "autoupdate": False, "share": "disabled", "snapshot": False, "lsp": False, "formatter": False}))

    def stop(self):
        super().stop()
        if self.model is not None:
            self.model.kill()
            self.model.wait()
            self.model.stdout.close()
            self.model = None

    def command(self):
        return [PROGRAM, "serve", "--port", "0"]

    def directory(self):
        return self.home / "work"

    def environment(self):
        return {"HOME": str(self.home), "OPENCODE_CONFIG": str(self.home / "opencode.json"),
                "OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1",
                **{f"XDG_{kind}_HOME": str(self.home / kind.lower()) for kind in ("DATA", "CONFIG", "CACHE", "STATE")}}

    def install(self):
        self.package.install()

    def version(self):
        return json.loads((FOLDER / "package.json").read_text())["dependencies"]["opencode-ai"]

    def installed_bytes(self):
        return PROGRAM.stat().st_size

    def create(self):
        return self.call("POST", "/session", {"title": "bench"})["id"]

    def begin(self, conversation, content):
        feed = Stream(self.request("GET", "/event"), '"message.part.delta"', '"session.idle"')
        body = {"model": {"providerID": "bench", "modelID": "instant"}, "parts": [{"type": "text", "text": content}]}
        asking = self.send_only("POST", f"/session/{conversation}/message", body)
        feed.also_close(asking)
        return feed

    def answer(self, conversation):
        messages = self.call("GET", f"/session/{conversation}/message")
        if not messages or messages[-1]["info"]["role"] != "assistant":
            return None
        return "".join(part["text"] for part in messages[-1]["parts"] if part["type"] == "text")
