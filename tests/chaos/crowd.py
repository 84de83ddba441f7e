"""Thousands of connections in one thread: those who hold a stream open, those who read slowly, those who come and go."""
import errno
import heapq
import select
import socket
import struct
import time

RESET = struct.pack("ii", 1, 0)  # SO_LINGER: away without a word, and no port is kept for the dead


class Visitor:
    """One connection that asks one thing. What it does with the answer is its own business."""

    receive_buffer = None

    def __init__(self, request):
        self.request, self.socket = request, None
        self.began = time.monotonic()
        self.head = b""

    def on_bytes(self, crowd, data):
        """Something came; empty at the end."""

    def on_time(self, crowd):
        """It had asked to be woken."""

    def status(self):
        return int(self.head.split(b" ", 2)[1]) if self.head.count(b" ") >= 2 else 0

    def take_head(self, data):
        """True once the whole head is there."""
        if b"\r\n\r\n" not in self.head:
            self.head += data
        return b"\r\n\r\n" in self.head


class Crowd:
    def __init__(self, port):
        self.address = ("127.0.0.1", port)
        self.epoll = select.epoll()
        self.visitors = {}  # by descriptor
        self.alarms = []    # (when, number, visitor)
        self.number = 0
        self.failed_to_connect = 0

    def enter(self, visitor):
        visitor.socket = socket.socket()
        if visitor.receive_buffer:
            visitor.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, visitor.receive_buffer)
        visitor.socket.setblocking(False)
        self.number += 1
        # One address has ports for 28,000 connections, and no more.
        visitor.socket.setsockopt(socket.SOL_IP, 24, 1)  # IP_BIND_ADDRESS_NO_PORT
        visitor.socket.bind((f"127.0.0.{1 + self.number % 8}", 0))
        visitor.socket.connect_ex(self.address)
        self.visitors[visitor.socket.fileno()] = visitor
        self.epoll.register(visitor.socket.fileno(), select.EPOLLOUT)

    def leave(self, visitor):
        if visitor.socket is None:
            return
        del self.visitors[visitor.socket.fileno()]
        visitor.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        visitor.socket.close()
        visitor.socket = None

    def rest(self, visitor, seconds):
        """It does not look at its connection for so long; then on_time."""
        self.epoll.modify(visitor.socket.fileno(), 0)
        self.wake(visitor, seconds)

    def wake(self, visitor, seconds):
        self.number += 1
        heapq.heappush(self.alarms, (time.monotonic() + seconds, self.number, visitor))

    def listen(self, visitor):
        self.epoll.modify(visitor.socket.fileno(), select.EPOLLIN)

    def step(self, patience_s):
        """Serves whoever is ready, for at most so long."""
        now = time.monotonic()
        if self.alarms:
            patience_s = min(patience_s, max(0.0, self.alarms[0][0] - now))
        for descriptor, mask in self.epoll.poll(patience_s, 512):
            visitor = self.visitors.get(descriptor)
            if visitor is not None:
                self.serve(visitor, mask)
        now = time.monotonic()
        while self.alarms and self.alarms[0][0] <= now:
            visitor = heapq.heappop(self.alarms)[2]
            if visitor.socket is not None:
                visitor.on_time(self)

    def serve(self, visitor, mask):
        if mask & select.EPOLLOUT:
            if visitor.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
                self.failed_to_connect += 1
                self.leave(visitor)
                return
            visitor.socket.send(visitor.request)
            self.listen(visitor)
            return
        try:
            data = visitor.socket.recv(visitor.receive_buffer or 65536)
        except OSError as why:
            if why.errno == errno.EAGAIN:
                return
            data = b""
        visitor.on_bytes(self, data)
        if not data:
            self.leave(visitor)

    def disperse(self):
        for visitor in list(self.visitors.values()):
            self.leave(visitor)
