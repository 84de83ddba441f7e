"""What clients without a key can make the server hold: endless bodies, unread responses, connections."""
import contextlib
import resource
import unittest

from frames import Frames, head, literal, remembered
from http_client import Connection, encode_request
from server_process import ServerTest, is_sanitized

MIB = 1024  # KiB


def setUpModule():
    """A user may begin with 1,024 descriptors, which are fewer than the connections opened here."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def slow_body(size, sent, method="POST", path="/v1/conversations"):
    """A request of which some is missing."""
    whole = encode_request(method, path, b"", {})
    return whole.replace(b"Content-Length: 0", b"Content-Length: %d" % size) + b"x" * sent


class Bodies(ServerTest):
    def opened(self, count, request):
        """As many connections that have sent this, as far as the server takes it."""
        connections = []
        for _ in range(count):
            connections.append(Connection(self.server.host, self.server.port))
            self.addCleanup(connections[-1].close)
            with contextlib.suppress(OSError):  # it was turned away already
                connections[-1].send(request)
        return connections

    def test_of_strangers_take_no_room_from_those_with_a_key(self):
        """As many bytes as all bodies may have in memory, to the last: 1,024 times a byte less than 256 KiB, and the rest."""
        self.opened(1024, slow_body(262_144, 262_143))
        self.opened(1, slow_body(2000, 1024))
        statuses = [self.client.post("/v1/conversations", {}).status for _ in range(20)]
        self.assertEqual(statuses, [201] * 20)

    def test_of_strangers_are_judged_by_their_heads_unless_they_are_tiny(self):
        connection, = self.opened(1, slow_body(5000, 4990))
        self.assert_problem(connection.response("POST"), 401, "unauthenticated")

    def test_are_tiny_where_no_key_is_asked_for(self):
        for method, path in (("POST", "/console/session"), ("GET", "/healthz"), ("GET", "/sandbox/healthz")):
            connection, = self.opened(1, slow_body(2049, 10, method, path))
            self.assert_problem(connection.response(method), 413, "content-too-large")

    def test_heads_that_cost_nothing_to_send_have_a_bound(self):
        """A field of 4,000 bytes is sent once and then named seven times in each head; no body comes."""
        before = self.server.rss_kib()
        with contextlib.ExitStack() as stack:
            for _ in range(20):
                frames = stack.enter_context(Frames(self.server))
                frames.ask(head("POST", "/v1/conversations") + literal("x-a", "y" * 3900, remembered=True), ends=False)
                for _ in range(200):
                    frames.ask(head("POST", "/v1/conversations") + literal("content-length", "4000")
                               + remembered() * 7, ends=False)
                frames.wait_until_all_was_heard()
            answer = self.client.post("/v1/conversations", {})
            self.assertEqual(answer.status, 201, answer.body)
            grown = self.server.rss_kib() - before
        if not is_sanitized():
            self.assertLess(grown, 64 * MIB)


    def fill(self, stack, source, connections, path, length, fields):
        """As many incomplete requests as fit on these connections, each with `fields` remembered fields of 3,900 bytes."""
        for _ in range(connections):
            frames = stack.enter_context(Frames(self.server, source=source))
            block = head("POST", path) + literal("content-length", str(length))
            frames.ask(block + literal("x-a", "y" * 3900, remembered=True), ends=False)
            for _ in range(250):
                frames.ask(block + remembered() * fields, ends=False)
            frames.wait_until_all_was_heard()

    def test_from_many_addresses_take_no_room_from_those_with_a_key(self):
        """More than all strangers may have, where no key is asked for and where one is: large heads from nine addresses,
        and small ones from others until nothing fits."""
        for path in ("/console/session", "/v1/conversations"):
            with self.subTest(path), contextlib.ExitStack() as stack:
                for last in range(2, 11):
                    self.fill(stack, f"127.0.0.{last}", 3, path, 2000, fields=7)
                for last in range(11, 15):
                    self.fill(stack, f"127.0.0.{last}", 1, path, 10, fields=0)
                statuses = [self.client.post("/v1/conversations", {"title": "x" * 200}).status for _ in range(20)]
                self.assertEqual(statuses, [201] * 20, "requests in one piece")
                for _ in range(5):
                    whole = encode_request("POST", "/v1/conversations", b'{"title":"y"}',
                                           {"Authorization": "Bearer " + self.server.bootstrap["service_key"]})
                    connection = Connection(self.server.host, self.server.port)
                    self.addCleanup(connection.close)
                    connection.send(whole[:-5])
                    self.client.get("/v1/agents")
                    connection.send(whole[-5:])
                    self.assertEqual(connection.response("POST").status, 201, "a request in two pieces")


class Answers(ServerTest):
    def test_that_no_stranger_reads_cost_next_to_nothing(self):
        before = self.server.rss_kib()
        with contextlib.ExitStack() as stack:
            for _ in range(30):
                frames = stack.enter_context(Frames(self.server))
                for path in ("/openapi.yaml", "/docs", "/console/") * 20:
                    frames.ask(head("GET", path))
                frames.wait_until_all_was_heard()
            self.assertEqual(self.client.post("/v1/conversations", {}).status, 201)
            grown = self.server.rss_kib() - before
        if not is_sanitized():
            self.assertLess(grown, 40 * MIB)


if __name__ == "__main__":
    unittest.main()
