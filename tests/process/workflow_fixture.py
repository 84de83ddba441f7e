"""Workflows through the real server: kept, run, read line by line."""
import http.server
import json
import threading

from http_client import CLOSED_WITHIN_S
from server_process import ServerTest


class Target(http.server.ThreadingHTTPServer):
    """What http blocks call: remembers every request, and answers when `gate` is open."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked, self.came, self.gate = [], threading.Semaphore(0), threading.Event()
        self.gate.set()
        self.status = 200
        self.thread = threading.Thread(target=self.serve_forever, args=(CLOSED_WITHIN_S,), daemon=True)
        self.thread.start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"

    def close(self):
        self.gate.set()
        self.shutdown()
        self.thread.join()
        self.server_close()


class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.asked.append((self.command, self.path, dict(self.headers), body))
        self.server.came.release()
        self.server.gate.wait(30)
        words = json.dumps({"heard": body.decode(), "path": self.path}).encode()
        try:
            self.send_response(self.server.status)
            self.send_header("Content-Length", str(len(words)))
            self.end_headers()
            self.wfile.write(words)
        except OSError:
            pass  # the client has disconnected

    do_GET = do_POST = do_PUT = answer

    def log_message(self, *_):
        pass


class WorkflowTest(ServerTest):
    """One server, and somebody for http blocks to call."""

    started = 0

    @classmethod
    def setUpClass(cls):
        cls.target = Target()
        cls.flags = (*cls.flags, "--workflows.http_urls", cls.target.url)
        super().setUpClass()

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        cls.target.close()

    def setUp(self):
        super().setUp()
        self.target.gate.set()
        self.target.status = 200
        self.forget_requests()

    def forget_requests(self):
        self.target.asked.clear()
        while self.target.came.acquire(blocking=False):
            pass

    @property
    def workspace(self):
        return "/api/workspaces/wsp_" + self.server.bootstrap["tenant_id"].removeprefix("tnt_")

    def keep(self, definition, name=None):
        answer = self.client.post(self.workspace + "/workflows",
                                  {"name": name or self.id(), "definition": definition})
        self.assertEqual(answer.status, 201, answer.body)
        return answer.json()["id"]

    def refusal(self, definition):
        """The pointers and messages of a definition that is refused."""
        answer = self.client.post(self.workspace + "/workflows", {"name": self.id(), "definition": definition})
        self.assertEqual(answer.status, 422, answer.body)
        return {error["pointer"]: error["message"] for error in answer.json()["errors"]}

    def start(self, definition, inputs=None):
        """The run's id; it goes on by itself."""
        WorkflowTest.started += 1
        workflow = self.keep(definition, f"{self.id()} {WorkflowTest.started}")
        answer = self.client.post(f"{self.workspace}/workflows/{workflow}/runs",
                                  {"inputs": inputs or {}}, headers={"Prefer": "respond-async"})
        self.assertEqual(answer.status, 202, answer.body)
        return answer.json()["id"]

    def lines(self, run, query=""):
        answer = self.client.get(f"{self.workspace}/workflow-runs/{run}/events{query}")
        self.assertEqual(answer.status, 200, answer.body)
        return [json.loads(line) for line in answer.body.splitlines()]

    def run_record(self, run):
        return self.client.get(f"{self.workspace}/workflow-runs/{run}").json()

    def check_lines(self, lines):
        """What every whole stream of a workflow run keeps to."""
        self.assertEqual([line["seq"] for line in lines], list(range(len(lines))))
        self.assertEqual(lines[0]["type"], "run.started")
        self.assertEqual(lines[-1]["type"], "run.finished")
        inside = None
        for line in lines[1:-1]:
            if line["type"] == "block.started":
                self.assertIsNone(inside)
                inside = line["block"]
            elif line["type"] == "block.line":
                self.assertEqual(line["block"], inside)
            elif line["status"] != "skipped":
                self.assertEqual(line["block"], inside)
                inside = None
        self.assertIsNone(inside)


def agents(name, prompt, **more):
    return {"id": name, "type": "agents", "agent": "default", "prompt": prompt, **more}


def edges(*pairs):
    return [dict(zip(("from", "to", "when"), pair)) for pair in pairs]
