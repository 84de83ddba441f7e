"""HTTP/2 frames by hand, for what no client library does: no window for any answer, heads that are cheap to send."""
import socket
import struct

from http_client import PATIENCE_S

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RESET, SETTINGS, PING = 0, 1, 3, 4, 6
END_STREAM, END_HEADERS, ACK = 1, 4, 1
INITIAL_WINDOW_SIZE = 4


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def integer(value, prefix_bits, first_byte):
    """RFC 7541 §5.1."""
    most = (1 << prefix_bits) - 1
    if value < most:
        return bytes([first_byte | value])
    out, value = [first_byte | most], value - most
    while value >= 128:
        out.append(value % 128 | 128)
        value //= 128
    return bytes([*out, value])


def literal(name, value, remembered=False):
    """A header field in full; `remembered` in the table of the connection, where the newest has the index 62."""
    name, value = name.encode(), value.encode()
    return bytes([0x40 if remembered else 0]) + integer(len(name), 7, 0) + name + integer(len(value), 7, 0) + value


def remembered(index=62):
    return integer(index, 7, 0x80)


def head(method, path, host="sluice"):
    return b"".join(literal(*field) for field in
                    ((":method", method), (":scheme", "http"), (":authority", host), (":path", path)))


class Frames:
    """A connection on which the client says what it likes, and hears nothing but what is asked for."""

    def __init__(self, server, window=0, patience_s=PATIENCE_S, source=None):
        """`source`: the address to come from."""
        self.socket = socket.create_connection((server.host, server.port), patience_s,
                                               source_address=(source, 0) if source else None)
        self.heard = b""
        self.next_stream = 1
        self.send(PREFACE + frame(SETTINGS, 0, 0, struct.pack(">HI", INITIAL_WINDOW_SIZE, window)))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, octets):
        self.socket.sendall(octets)

    def ask(self, block, ends=True):
        """Opens a stream with this header block, and gives its number."""
        number, self.next_stream = self.next_stream, self.next_stream + 2
        self.send(frame(HEADERS, END_HEADERS | (END_STREAM if ends else 0), number, block))
        return number

    def next_frame(self):
        while len(self.heard) < 9 or len(self.heard) < 9 + int.from_bytes(self.heard[:3], "big"):
            piece = self.socket.recv(65536)
            if not piece:
                raise ConnectionError("the server closed the connection")
            self.heard += piece
        size = int.from_bytes(self.heard[:3], "big")
        kind, flags = self.heard[3], self.heard[4]
        stream = int.from_bytes(self.heard[5:9], "big") & 0x7fffffff
        payload, self.heard = self.heard[9:9 + size], self.heard[9 + size:]
        return kind, flags, stream, payload

    def wait_until_all_was_heard(self):
        """The answer to a ping comes after everything that was sent before has been dealt with."""
        self.send(frame(PING, 0, 0, b"all of it"[:8]))
        while self.next_frame()[:2] != (PING, ACK):
            pass
