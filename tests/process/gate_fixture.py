"""What stories about gates need besides a server: an approver who signs, a host with TLS that keeps what it was sent,
and somebody who waits for webhooks."""
import base64
import hashlib
import hmac
import http.server
import json
import pathlib
import queue
import shutil
import ssl
import subprocess
import tempfile
import threading
import time

from http_client import CLOSED_WITHIN_S
from server_process import PATIENCE_S, ServerTest


def base64url(raw):
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


class Approver:
    """Signs as the contract says: canonical JSON, HMAC-SHA256, base64url without padding."""

    def __init__(self, key_id, secret):
        self.key_id, self.secret = key_id, secret

    @staticmethod
    def of(server):
        key = server.bootstrap["approver_key"]
        return Approver(key["key_id"], key["secret"])

    def signature(self, approval, decision="approve", exp=None, **digests):
        exp = int(time.time()) + 120 if exp is None else exp
        payload = json.dumps({"approval_id": approval, "decision": decision, "exp": exp} | digests,
                             sort_keys=True, separators=(",", ":")).encode()
        value = base64url(hmac.new(self.secret.encode(), payload, hashlib.sha256).digest())
        return {"key_id": self.key_id, "algorithm": "hmac-sha256", "exp": exp, "value": value} | digests


class Upstream:
    """An HTTPS (or HTTP) server on loopback. `respond` makes (status, headers, body pieces) of a request."""

    def __init__(self, name="crm.example", tls=True, respond=None):
        self.name, self.requests, self.lock = name, [], threading.Lock()
        self.respond = respond or (lambda request: (200, {}, [b'{"invoices":14}']))
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="sluice-upstream-"))
        upstream = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self):
                length = int(self.headers.get("content-length") or 0)
                body = self.rfile.read(length) if length else self.chunked_body()
                request = {"method": self.command, "path": self.path, "headers": dict(self.headers), "body": body}
                with upstream.lock:
                    upstream.requests.append(request)
                status, headers, pieces = upstream.respond(request)
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                for piece in pieces:
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                    self.wfile.flush()
                self.wfile.write(b"0\r\n\r\n")

            def chunked_body(self):
                if self.headers.get("transfer-encoding", "").lower() != "chunked":
                    return b""
                body = b""
                while size := int(self.rfile.readline().split(b";")[0], 16):
                    body += self.rfile.read(size)
                    self.rfile.readline()
                self.rfile.readline()
                return body

            do_GET = do_POST = do_PUT = answer

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_port
        if tls:
            self.make_certificate()
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(self.home / "cert.pem", self.home / "key.pem")
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.url = f"{'https' if tls else 'http'}://{name}:{self.port}"
        threading.Thread(target=self.server.serve_forever, args=(CLOSED_WITHIN_S,), daemon=True).start()

    @property
    def ca_file(self):
        return str(self.home / "cert.pem")

    def make_certificate(self):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                        "-keyout", self.home / "key.pem", "-out", self.home / "cert.pem", "-days", "2", "-subj",
                        f"/CN={self.name}", "-addext", f"subjectAltName=DNS:{self.name}"],
                       check=True, capture_output=True)

    def seen(self):
        with self.lock:
            return list(self.requests)

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        shutil.rmtree(self.home)


class Hooks:
    """Somebody who waits for webhooks; refuses the first `refusals` of them."""

    def __init__(self, refusals=0):
        self.calls = queue.Queue()
        hooks, left = self, [refusals]

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                status, left[0] = (500 if left[0] > 0 else 200), left[0] - 1
                hooks.calls.put((status, dict(self.headers), body))
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/hooks"
        threading.Thread(target=self.server.serve_forever, args=(CLOSED_WITHIN_S,), daemon=True).start()

    def next(self):
        return self.calls.get(timeout=PATIENCE_S)

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class GateTest(ServerTest):
    """A server, and an approver of its demo tenant."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.approver = Approver.of(cls.server)

    def approve(self, approval, client=None, approver=None, decision="approve", **fields):
        signature = (approver or self.approver).signature(approval, decision)
        return (client or self.client).post(f"/v1/approvals/{approval}/{decision}", {"signature": signature} | fields)

    def deny(self, approval, **fields):
        return self.approve(approval, decision="deny", **fields)

    def until_gate(self, lines):
        """Reads a stream up to the event that asks for a human; gives the events so far."""
        events = []
        for line in lines:
            events.append(json.loads(line))
            if events[-1]["type"] == "approval_required":
                return events
        self.fail(f"no approval was asked for: {events}")

    def pending(self, conversation):
        answer = self.client.get(f"/v1/approvals?conversation_id={conversation}&status=pending")
        self.assertEqual(answer.status, 200, answer.body)
        return answer.json()["data"]

    def policy(self, *rules):
        """The demo tenant's default agent gets these rules."""
        agent = next(a for a in self.client.get("/v1/agents").json()["data"] if a["is_default"])
        answer = self.client.patch(f"/v1/agents/{agent['id']}", {"policy": list(rules)})
        self.assertEqual(answer.status, 200, answer.body)
