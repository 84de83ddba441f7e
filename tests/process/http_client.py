"""A small HTTP/1.1 client on plain sockets, so that tests see the very bytes and when they come."""
import json
import os
import socket
import ssl
import time

PATIENCE_S = float(os.environ.get("SLUICE_TEST_PATIENCE", "30"))  # sanitized.py has more of it
CLOSED_WITHIN_S = 0.02  # how soon a server inside a test notices that it is to end


class Truncated(Exception):
    """The connection ended in the middle of a response."""


class Connection:
    """One socket. Several requests may follow each other on it."""

    def __init__(self, host, port, patience_s=PATIENCE_S, receive_buffer=None, tls=None):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(patience_s)
        try:
            self.socket.connect((host, port))
        except OSError:
            self.socket.close()
            raise
        if tls is not None:
            self.socket = tls.wrap_socket(self.socket, server_hostname=host)
        self.deadline = time.monotonic() + patience_s
        self.buffer = b""

    def send(self, data):
        self.socket.sendall(data)

    def receive(self):
        """Some bytes; empty at the end."""
        self.socket.settimeout(max(0.01, self.deadline - time.monotonic()))
        try:
            return self.socket.recv(65536)
        except ssl.SSLEOFError:
            return b""

    def read_until(self, mark):
        while mark not in self.buffer:
            piece = self.receive()
            if not piece:
                raise Truncated(f"closed after {self.buffer[:200]!r}")
            self.buffer += piece
        head, self.buffer = self.buffer.split(mark, 1)
        return head

    def read_exactly(self, count):
        while len(self.buffer) < count:
            piece = self.receive()
            if not piece:
                raise Truncated(f"closed with {count - len(self.buffer)} bytes missing")
            self.buffer += piece
        data, self.buffer = self.buffer[:count], self.buffer[count:]
        return data

    def read_to_end(self):
        """Everything until the peer closes."""
        try:
            while piece := self.receive():
                self.buffer += piece
        except ConnectionResetError:
            pass
        data, self.buffer = self.buffer, b""
        return data

    def response(self, method="GET"):
        return Response(self, method)

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Response:
    """The head is read at once, the body as it is asked for."""

    def __init__(self, connection, method):
        self.connection = connection
        head = connection.read_until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        self.version, status, *_ = head[0].split(" ", 2)
        self.status = int(status)
        self.header_list = [tuple(part.strip() for part in line.split(":", 1)) for line in head[1:]]
        self._method = method
        self._body = None

    def header(self, name, default=None):
        values = [v for k, v in self.header_list if k.lower() == name.lower()]
        return values[0] if values else default

    def pieces(self):
        """The decoded body, in the pieces in which it arrives."""
        if self._method == "HEAD" or self.status in (204, 304):
            return
        if (self.header("transfer-encoding") or "").lower() == "chunked":
            while size := int(self.connection.read_until(b"\r\n").split(b";")[0], 16):
                yield self.connection.read_exactly(size)
                if self.connection.read_exactly(2) != b"\r\n":
                    raise AssertionError("a chunk without its line end")
            if self.connection.read_until(b"\r\n") != b"":
                raise AssertionError("trailers were not asked for")
        elif self.header("content-length") is not None:
            yield self.connection.read_exactly(int(self.header("content-length")))
        else:
            if self.connection.buffer:
                data, self.connection.buffer = self.connection.buffer, b""
                yield data
            while piece := self.connection.receive():
                yield piece

    def lines(self):
        """Raw lines without their newline, each as soon as it is complete."""
        rest = b""
        for piece in self.pieces():
            rest += piece
            *complete, rest = rest.split(b"\n")
            yield from complete
        if rest:
            raise Truncated(f"a line without an end: {rest[:200]!r}")

    @property
    def body(self):
        if self._body is None:
            self._body = b"".join(self.pieces())
        return self._body

    def json(self):
        return json.loads(self.body)

    def close(self):
        self.connection.close()


def encode_request(method, path, body=None, headers=None, host="sluice.test", version="HTTP/1.1"):
    lines = [f"{method} {path} {version}", f"Host: {host}"]
    given = {k.lower() for k in headers or {}}
    if body is not None:
        if "content-type" not in given:
            lines.append("Content-Type: application/json")
        lines.append(f"Content-Length: {len(body)}")
    lines += [f"{k}: {v}" for k, v in (headers or {}).items()]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + (body or b"")


class Client:
    """Requests with one key, each on a connection of its own."""

    def __init__(self, host, port, key, tls=None):
        self.host, self.port, self.key, self.tls = host, port, key, tls

    def connect(self, patience_s=PATIENCE_S, receive_buffer=None):
        return Connection(self.host, self.port, patience_s, receive_buffer, self.tls)

    def headers(self, extra=None):
        own = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        return own | (extra or {})

    def encode(self, method, path, body=None, headers=None, version="HTTP/1.1"):
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        return encode_request(method, path, body, self.headers(headers), f"{self.host}:{self.port}", version)

    def open(self, method, path, body=None, headers=None, patience_s=PATIENCE_S, receive_buffer=None,
             version="HTTP/1.1"):
        """The response with its body still to come. The caller closes it."""
        connection = self.connect(patience_s, receive_buffer)
        try:
            connection.send(self.encode(method, path, body, headers, version))
            return connection.response(method)
        except BaseException:
            connection.close()
            raise

    def request(self, method, path, body=None, headers=None, patience_s=PATIENCE_S):
        """The whole answer."""
        answer = self.open(method, path, body, headers, patience_s)
        with answer.connection:
            answer.body  # read it before the connection goes
            return answer

    def get(self, path, headers=None):
        return self.request("GET", path, None, headers)

    def post(self, path, body=None, headers=None, patience_s=PATIENCE_S):
        return self.request("POST", path, {} if body is None else body, headers, patience_s)

    def patch(self, path, body, headers=None):
        return self.request("PATCH", path, body, headers)

    def delete(self, path, headers=None):
        return self.request("DELETE", path, None, headers)

    def send(self, conversation, content, headers=None, patience_s=PATIENCE_S, query="", **fields):
        """Sends a message and opens its stream."""
        return self.open("POST", f"/v1/conversations/{conversation}/messages{query}", {"content": content} | fields,
                         headers, patience_s)

    def say(self, conversation, content, headers=None, patience_s=PATIENCE_S, **fields):
        """Sends a message and returns the raw lines of its whole stream."""
        answer = self.send(conversation, content, headers, patience_s, **fields)
        with answer.connection:
            if answer.header("content-type") != "application/x-ndjson":
                raise AssertionError(f"no stream but {answer.status}: {answer.body[:500]!r}")
            return list(answer.lines())

    def events(self, message, after=None, headers=None, patience_s=PATIENCE_S):
        """The raw lines of a message's stream, read again."""
        query = "" if after is None else f"?after={after}"
        answer = self.open("GET", f"/v1/messages/{message}/events{query}", None, headers, patience_s)
        with answer.connection:
            if answer.status != 200:
                raise AssertionError(f"{answer.status}: {answer.body[:500]!r}")
            return list(answer.lines())
