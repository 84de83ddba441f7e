"""Somebody else's workspace, just large enough to dispatch to a runner: it answers /env, /config, /skills and
/results for one execution, each token once, and remembers what it was sent."""
import email.parser
import email.policy
import hashlib
import http.server
import io
import json
import tarfile
import threading

from http_client import CLOSED_WITHIN_S


def bundle(files):
    """A gzipped tar of {path: text}."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for path, text in files.items():
            member = tarfile.TarInfo(path)
            member.size = len(text.encode())
            tar.addfile(member, io.BytesIO(text.encode()))
    return out.getvalue()


class Workspace:
    def __init__(self, env=None, config=None, skills=None):
        """`config` may be bytes, to be sent as they are."""
        self.tokens = {"/a/env": "otps_one", "/a/config": "otpr_two", "/a/results": "otpu_three"}
        self.bearer = "asbx_four"
        self.skills = {f"skl_{name}": files for name, files in (skills or {}).items()}
        self.bundles = {skill: bundle(files) for skill, files in self.skills.items()}
        self.env = env if env is not None else {"variables": {}, "script": None}
        self.config = config if isinstance(config, bytes) else {
            "agent": {"name": "Ada", "model": {"provider": "offline", "name": "offline"}},
            "skills": [{"id": skill, "name": skill[4:], "description": "A skill", "bundle_version": "1",
                        "sha256": hashlib.sha256(data).hexdigest()} for skill, data in self.bundles.items()],
            "callback": {"base_url": "http://nowhere", "token": self.bearer}} | (config or {})
        self.seen = []  # (method, path, Authorization)
        self.files = {}
        self.result = None
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self.server.server_port}/a"
        threading.Thread(target=self.server.serve_forever, args=(CLOSED_WITHIN_S,), daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def dispatch(self, prompt, upload=True):
        """The body of POST /stream."""
        body = {"agent_url": self.url, "otp_setup": "otps_one", "otp_run": "otpr_two", "prompt": prompt}
        return body | ({"otp_upload": "otpu_three"} if upload else {})

    def paths(self):
        return [path for _, path, _ in self.seen]

    def _answer(self, method, path, authorization, content_type, body):
        """Status and bytes."""
        self.seen.append((method, path, authorization))
        if path.startswith("/a/skills/"):
            if authorization != f"Bearer {self.bearer}":
                return 401, b"{}"
            return 200, self.bundles[path.removeprefix("/a/skills/")]
        if path not in self.tokens or self.tokens[path] != authorization:
            return 401, b'{"title":"The token is used, expired, foreign or unknown"}'
        self.tokens[path] = None
        if path == "/a/results":
            self._keep(content_type, body)
            return 200, b'{"files":[]}'
        given = self.env if path == "/a/env" else self.config
        return 200, given if isinstance(given, bytes) else json.dumps(given).encode()

    def _keep(self, content_type, body):
        head = f"Content-Type: {content_type}\r\n\r\n".encode()
        for part in email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head + body).iter_parts():
            name = part.get_param("name", header="content-disposition")
            if name == "files":
                self.files[part.get_filename()] = part.get_payload(decode=True)
            elif name == "result":
                self.result = json.loads(part.get_payload(decode=True))

    def _handler(workspace):
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                status, answer = workspace._answer(self.command, self.path, self.headers.get("Authorization"),
                                                   self.headers.get("Content-Type"), body)
                self.send_response(status)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            do_POST = do_GET

            def log_message(self, *_):
                pass

        return Handler
