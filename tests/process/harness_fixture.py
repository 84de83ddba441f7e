"""What stories about real agent programs need: the programs themselves, from npm at the pinned versions, and a model that
they reach through the box's way out, over TLS, with a key that they never see.

The programs are kept in a cache between runs (SLUICE_HARNESS_CACHE, or ~/.cache/sluice-harness). Where the registry
cannot be reached and they are not there, the suite says so loudly and exits with 77, which is counted as skipped.
"""
import fcntl
import json
import os
import pathlib
import ssl
import subprocess
import sys
import urllib.request

import http_client
from gate_fixture import GateTest, Upstream
from model_emulator import ModelEmulator
from ports import lasting_port
from server_process import BINARY, wait_until

CACHE = pathlib.Path(os.environ.get("SLUICE_HARNESS_CACHE") or pathlib.Path.home() / ".cache" / "sluice-harness")
KEY = "model-key-31c0ffee-never-in-a-box"
PROVIDERS = {"claude-code": "anthropic", "codex": "openai-responses", "opencode": "openai-chat",
             "grok-build": "openai-chat"}
INSTALL_S_MAX = 900
PATIENCE_S = 8 * http_client.PATIENCE_S
START_MS_MAX = int(1000 * PATIENCE_S)  # more than an honest program needs for its first word, on any machine


def registry_answers():
    registry = subprocess.run(["npm", "config", "get", "registry"], capture_output=True, text=True, check=False).stdout.strip()
    try:
        with urllib.request.urlopen(registry or "https://registry.npmjs.org/", timeout=20):
            return True
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False


def install(agent_type):
    """Puts the program into the cache, or ends the whole suite with 77. Suites may run side by side: one of them installs."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with open(CACHE / ".suites", "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (CACHE / agent_type / "sluice-program.json").exists():
            fetch(agent_type)


def fetch(agent_type):
    if not registry_answers():
        print(f"SKIPPED: {agent_type} is not in {CACHE}, and the npm registry cannot be reached", file=sys.stderr, flush=True)
        os._exit(77)
    done = subprocess.run([str(BINARY), "harness", "install", agent_type, "--harness.dir", str(CACHE)], capture_output=True,
                          text=True, timeout=INSTALL_S_MAX, check=False,
                          env={k: v for k, v in os.environ.items() if not k.startswith("SLUICE_")})
    if done.returncode != 0:
        raise AssertionError(f"sluice harness install {agent_type} failed:\n{done.stdout}\n{done.stderr}")


class TlsModel(ModelEmulator):
    """The model at https://model.example, with a certificate of its own."""

    def __init__(self):
        super().__init__()
        self.certificate = Upstream("model.example")  # for its certificate; it gets no request
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate.home / "cert.pem", self.certificate.home / "key.pem")
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.url = f"https://model.example:{self.port}"

    def close(self):
        super().close()
        self.certificate.close()

    def keys(self):
        """With which key each request came."""
        return {headers.get("x-api-key") or headers.get("authorization", "").removeprefix("Bearer ")
                for _, headers, _ in self.requests}


class HarnessTest(GateTest):
    """A server whose agents are real programs. A class for one kind of them sets `agent_type`."""

    agent_type = None

    @classmethod
    def setUpClass(cls):
        install(cls.agent_type)
        cls.model = TlsModel()
        cls.addClassCleanup(cls.model.close)
        base = cls.model.url
        cls.tools_port = lasting_port()
        cls.flags = ("--sandbox.driver", "namespaces", "--harness.dir", str(CACHE),
                     "--egress.host_addresses", "model.example 127.0.0.1", "--egress.private_addresses", "127.0.0.0/8",
                     "--egress.ca_file", cls.model.certificate.ca_file, "--providers.anthropic.base_url", base,
                     "--providers.openai-responses.base_url", base + "/v1", "--providers.openai-chat.base_url", base + "/v1",
                     "--tools.urls", f"http://127.0.0.1:{cls.tools_port}", "--harness.start_ms_max", str(START_MS_MAX))
        cls.env = {"ANTHROPIC_API_KEY": KEY, "OPENAI_API_KEY": KEY}
        super().setUpClass()

    def agent(self, **fields):
        answer = self.client.post("/v1/agents", {
            "name": self.id(), "agent_type": self.agent_type,
            "model": {"provider": PROVIDERS[self.agent_type], "name": self.model_name()}} | fields)
        self.assertEqual(answer.status, 201, answer.body)
        return answer.json()["id"]

    def model_name(self):
        return {"claude-code": "claude-opus-5-5", "codex": "gpt-5.5-codex"}.get(self.agent_type, "emulated-1")

    def script(self, *lines):
        return "Do what the script says.\n<<script\n" + "\n".join(lines) + "\n>>"

    def tell(self, conversation, *lines, approve=True, query="?detail=full", **fields):
        """All events of a message; every approval is granted."""
        stream = self.client.send(conversation, self.script(*lines), query=query, patience_s=PATIENCE_S, **fields)
        self.addCleanup(stream.close)
        self.assertEqual(stream.status, 200, stream.status)
        events = []
        for line in stream.lines():
            events.append(json.loads(line))
            if events[-1]["type"] == "approval_required" and approve:
                self.assertEqual(self.approve(events[-1]["data"]["id"]).status, 200)
        return events

    def said(self, events):
        self.assertEqual(events[-1]["type"], "message_end", [e for e in events if e["type"] in ("error", "log")][-8:])
        return events[-1]["data"]["message"]["content"]

    @staticmethod
    def steps(events, status=None):
        return [e["data"] for e in events if e["type"] == "step" and status in (None, e["data"]["status"])]

    def sessions(self, events):
        name = f"{self.agent_type}.session-id"
        return [e["data"]["value"]["sessionId"] for e in events if e["type"] == "custom" and e["data"]["name"] == name]

    def boxes_gone(self):
        wait_until(lambda: self.client.get("/v1/capacity").json()["running"] == 0, "nothing runs any more")
