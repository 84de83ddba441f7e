"""A server of MCP over HTTP (Streamable HTTP) that does what clients rarely meet: it asks, logs and changes its tools on the
stream that a client opens by GET, and breaks answers off that go on elsewhere."""
import http.server
import json
import queue
import threading

from http_client import PATIENCE_S

PICTURE = "iVBORw0KGgo" * 4220  # base64 of 34 KB


def tool(name):
    return {"name": name, "description": f"The tool {name}.", "inputSchema": {"type": "object"}}


def text(words):
    return {"content": [{"type": "text", "text": words}]}


class McpServer:
    def __init__(self):
        self.tools = [tool(name) for name in ("grow", "ask", "break_off", "link", "draw", "hang")]
        self.gets, self.called, self.answers = [], [], queue.Queue()
        self.events, self.listed_again = queue.Queue(), threading.Event()
        self.open_streams, self.lock = 0, threading.Lock()
        self.broken_off = queue.Queue()  # answers that are got by Last-Event-ID
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                message = json.loads(self.rfile.read(int(self.headers["content-length"])))
                if server.answers_instead(self):
                    return
                if "method" not in message:
                    server.answers.put(message)
                    self.empty(202)
                elif "id" not in message:
                    self.empty(202)
                elif message["method"] == "tools/call" and message["params"]["name"] == "break_off":
                    self.begin_stream()
                    self.event("id: cut-1\nretry: 100\ndata: \n\n")
                    server.broken_off.put(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": text("The rest.")}))
                else:
                    self.whole({"jsonrpc": "2.0", "id": message["id"], "result": server.result_of(message)})

            def do_GET(self):
                if server.answers_instead(self):
                    return
                last = self.headers.get("last-event-id")
                with server.lock:
                    server.gets.append(last)
                    server.open_streams += 1
                try:
                    self.begin_stream()
                    self.event(": here\n\n")
                    source = server.broken_off if last else server.events
                    while True:
                        try:
                            self.event("data: " + source.get(timeout=0.05) + "\n\n")
                        except queue.Empty:
                            self.event(": still here\n\n")
                except OSError:
                    pass  # the client has left
                finally:
                    with server.lock:
                        server.open_streams -= 1

            def begin_stream(self):
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Connection", "close")
                self.end_headers()
                self.close_connection = True

            def event(self, lines):
                self.wfile.write(lines.encode())
                self.wfile.flush()

            def empty(self, status):
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def whole(self, message):
                raw = json.dumps(message).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            def log_message(self, *_):
                pass

        class QuietServer(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                pass

        self.server = QuietServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/mcp"
        self.released = threading.Event()
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.released.set()
        self.server.shutdown()
        self.server.server_close()

    def answers_instead(self, request):
        """For servers that admit only some: whether `request`, a handler, has been answered."""
        return False

    def say(self, message):
        """On the stream that belongs to no call."""
        self.events.put(json.dumps({"jsonrpc": "2.0"} | message))

    def result_of(self, message):
        method, params = message["method"], message.get("params", {})
        if method == "initialize":
            return {"protocolVersion": params["protocolVersion"], "serverInfo": {"name": "odd", "version": "1"},
                    "capabilities": {"tools": {"listChanged": True}, "resources": {}, "logging": {}}}
        if method == "tools/list":
            if any(one["name"] == "late" for one in self.tools):
                self.listed_again.set()
            return {"tools": self.tools}
        if method == "resources/read":
            return {"contents": [{"uri": params["uri"], "mimeType": "text/plain", "text": "What is behind " + params["uri"]}]}
        self.called.append(params["name"])
        return getattr(self, params["name"])()

    # ── its tools ──
    def grow(self):
        self.tools.append(tool("late"))
        self.say({"method": "notifications/tools/list_changed"})
        return text("grown" if self.listed_again.wait(PATIENCE_S) else "nobody asked for the tools")

    def late(self):
        return text("Late, but there.")

    def ask(self):
        self.say({"id": "e-1", "method": "elicitation/create", "params": {
            "message": "Which table?", "requestedSchema": {"type": "object", "properties": {
                "table": {"type": "string", "default": "orders"}, "rows": {"type": "integer", "default": 7}}}}})
        return text(json.dumps(self.answers.get(timeout=PATIENCE_S)["result"]))

    def link(self):
        return {"content": [{"type": "resource_link", "uri": "odd://orders/7", "name": "order 7"}]}

    def draw(self):
        return {"content": [{"type": "image", "mimeType": "image/png", "data": PICTURE}]}

    def hang(self):
        self.released.wait(PATIENCE_S)
        return text("too late")
