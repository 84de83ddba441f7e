"""An authorization server that issues tokens by client credentials, and a server of MCP that takes nothing else, both on
loopback."""
import base64
import http.server
import json
import threading
import urllib.parse

from mcp_server import McpServer, text, tool


def answer(request, status, value, **headers):
    raw = json.dumps(value).encode()
    request.send_response(status)
    for name, content in headers.items():
        request.send_header(name.replace("_", "-"), content)
    request.send_header("Content-Type", "application/json")
    request.send_header("Content-Length", str(len(raw)))
    request.end_headers()
    request.wfile.write(raw)


class AuthorizationServer:
    def __init__(self, client_id, client_secret):
        self.issued, self.asked, self.good = [], [], set()
        self.expected = f"{urllib.parse.quote_plus(client_id)}:{urllib.parse.quote_plus(client_secret)}"
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                if self.path != "/.well-known/oauth-authorization-server":
                    return answer(self, 404, {})
                answer(self, 200, {"issuer": server.url, "token_endpoint": server.url + "/token",
                                   "token_endpoint_auth_methods_supported": ["client_secret_basic"]})

            def do_POST(self):
                form = dict(urllib.parse.parse_qsl(self.rfile.read(int(self.headers["content-length"])).decode()))
                kind, _, credentials = self.headers.get("authorization", "").partition(" ")
                server.asked.append(form)
                if kind != "Basic" or base64.b64decode(credentials).decode() != server.expected:
                    return answer(self, 401, {"error": "invalid_client",
                                              "error_description": "Not with " + self.headers.get("authorization", "")})
                answer(self, 200, {"access_token": server.issue(), "token_type": "Bearer", "expires_in": 3600})

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def issue(self):
        token = f"issued-token-{len(self.issued):04}-4b1d"
        self.issued.append(token)
        self.good = {token}
        return token

    def revoke(self):
        self.good = set()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class GuardedMcpServer(McpServer):
    """Accepts the tokens of one authorization server, and names that server to callers without a token."""

    def __init__(self, authorization):
        self.authorization = authorization
        super().__init__()
        self.tools = [tool(name) for name in ("quote", "revoke")]

    def answers_instead(self, request):
        origin = self.url.removesuffix("/mcp")
        if request.path == "/metadata":
            answer(request, 200, {"resource": self.url, "authorization_servers": [self.authorization.url]})
            return True
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        if token in self.authorization.good:
            return False
        answer(request, 401, {}, WWW_Authenticate=f'Bearer resource_metadata="{origin}/metadata", scope="orders"')
        return True

    # ── its tools ──
    def quote(self):
        return text("You came with " + self.authorization.issued[-1])

    def revoke(self):
        self.authorization.revoke()
        return text("revoked")
