"""Whatever is thrown at it, the server answers precisely, creates nothing, and lives."""
import json
import re
import socket
import struct
import threading
import unittest

from http_client import PATIENCE_S, encode_request
from server_process import ServerTest, is_sanitized, wait_until
from stream_grammar import check_stream, text_of

MIB = 1024 * 1024


def responses_in(data):
    """How many responses these bytes hold; more than one would answer a smuggled request."""
    return len(re.findall(rb"HTTP/1\.1 \d{3} ", data))


class BadInputTest(ServerTest):
    """After each test: the server works, and no message was made in the conversation under attack."""

    def setUp(self):
        self.target = self.conversation()
        self.path = f"/v1/conversations/{self.target}/messages"

    def tearDown(self):
        super().tearDown()
        self.assertEqual(self.messages(self.target), [])
        self.assertEqual(self.client.get("/healthz").json(), {"status": "ok"})

    def refused(self, body, status, slug, headers=None, pointer=None):
        if not isinstance(body, bytes):
            body = json.dumps(body).encode()
        problem = self.assert_problem(self.client.post(self.path, body, headers), status, slug)
        if pointer is not None:
            self.assertEqual([e["pointer"] for e in problem["errors"]], [pointer], problem)
        return problem


class Bodies(BadInputTest):
    def test_that_are_not_json_are_malformed(self):
        for body in (b"", b"   ", b"{", b'{"content":"x"', b"content=x", b'{"content":"x"} extra', b"{'content':'x'}",
                     b'{"content":"x",}', b'{"content":"\x01"}', b"NaN", b"\xef\xbb\xbf", b'{"a":1 "b":2}', b"\x00",
                     b'{"content":"' + b"x" * 1000, b'{"content": +1}', b'{"content":"\\q"}'):
            self.refused(body, 400, "malformed-request")

    def test_in_broken_utf_8_are_malformed(self):
        for bad in (b"\xff", b"\xc3", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\x80", b"\xe2\x82"):
            self.refused(b'{"content":"a' + bad + b'b"}', 400, "malformed-request")

    def test_with_half_a_surrogate_pair_are_malformed(self):
        for half in (rb"\ud800", rb"\udfff", rb"\ud800x", rb"\ud800\u0041", rb"\udc00\ud800"):
            self.refused(b'{"content":"' + half + b'"}', 400, "malformed-request")

    def test_with_nul_in_text_are_invalid(self):
        self.refused(rb'{"content":"a\u0000b"}', 422, "validation-error", pointer="/content")
        self.assert_problem(self.client.post("/v1/conversations", rb'{"title":"a\u0000b"}'), 422, "validation-error")
        self.assert_problem(self.client.post("/v1/conversations", rb'{"metadata":{"k":"\u0000"}}'),
                            422, "validation-error")

    def test_of_the_wrong_type_name_the_field(self):
        for body, pointer in (({}, "/content"), ({"content": None}, "/content"), ({"content": 7}, "/content"),
                              ({"content": ["x"]}, "/content"), ({"content": ""}, "/content"),
                              ({"content": "x", "env": []}, "/env"), ({"content": "x", "env": {"A": 1}}, "/env/A"),
                              ({"content": "x", "skill_ids": "skl"}, "/skill_ids"),
                              ({"content": "x", "skill_ids": [1]}, "/skill_ids/0"),
                              ({"content": "x", "filler": True}, "/filler"),
                              ({"content": "x", "filler": {"enabled": "yes"}}, "/filler/enabled"),
                              ({"content": "x", "repository_id": 1}, "/repository_id"),
                              ({"content": "x", "on_capacity": "maybe"}, "/on_capacity")):
            self.refused(body, 422, "validation-error", pointer=pointer)

    def test_that_are_not_objects_are_invalid(self):
        for body in ([], "text", 7, None, True):
            self.refused(body, 422, "validation-error")

    def test_with_several_faults_hear_of_each(self):
        problem = self.refused({"content": 1, "env": 2, "skill_ids": 3}, 422, "validation-error")
        self.assertEqual({e["pointer"] for e in problem["errors"]}, {"/content", "/env", "/skill_ids"})

    def test_nested_deeper_than_the_limit_are_malformed(self):
        for depth in (65, 1000, 200_000):
            self.refused(b'{"content":' + b"[" * depth + b"]" * depth + b"}", 400, "malformed-request")
        self.refused(b"[" * 1_000_000, 400, "malformed-request")
        self.refused(b'{"a":' * 100_000, 400, "malformed-request")

    def test_over_the_limits_are_too_large(self):
        self.refused({"content": "x" * (MIB + 1)}, 422, "validation-error", pointer="/content")
        self.refused({"content": "é" * (MIB // 2 + 1)}, 422, "validation-error", pointer="/content")
        self.refused({"content": "x", "skill_ids": ["s"] * 51}, 422, "validation-error", pointer="/skill_ids")
        environment = {f"E{i}": "" for i in range(101)}
        self.refused({"content": "x", "env": environment}, 422, "validation-error", pointer="/env")

    def test_of_ten_megabytes_are_refused_without_being_read(self):
        with self.client.connect() as connection:
            connection.send(self.client.encode("POST", self.path, b"", {"Expect": "100-continue"})
                            .replace(b"Content-Length: 0", b"Content-Length: 10485760"))
            answer = connection.response("POST")
            self.assertEqual(answer.status, 413, answer.body)
            self.assertIn(b"/problems/content-too-large", answer.body)

    def test_of_ten_megabytes_in_chunks_are_refused_too(self):
        with self.client.connect() as connection:
            connection.send(self.client.encode("POST", self.path, None, {"Transfer-Encoding": "chunked"}))
            chunk = b"10000\r\n" + b" " * 65536 + b"\r\n"
            try:
                for _ in range(160):
                    connection.send(chunk)
            except OSError:
                pass  # it may hang up on us; the answer is what counts
            self.assertEqual(connection.response("POST").status, 413)

    def test_of_another_media_type_are_unsupported(self):
        for kind in ("text/plain", "application/xml", "multipart/form-data; boundary=x", "nonsense", "text/jsonp"):
            self.refused({"content": "x"}, 415, "unsupported-media-type", {"Content-Type": kind})


class UnusualButGood(ServerTest):
    def test_unknown_fields_are_ignored(self):
        lines = self.client.say(self.conversation(), "say fine", contents="near miss", deep={"a": [{}]})
        check_stream(lines)

    def test_json_media_types_may_have_parameters(self):
        for kind in ("application/json; charset=utf-8", "Application/JSON", "application/merge-patch+json"):
            check_stream(self.client.say(self.conversation(), "say ok", headers={"Content-Type": kind}))

    def test_content_of_exactly_the_limit_is_taken(self):
        # "You said: " and the line come back: twice a MiB and more in one stream.
        content = "x" * MIB
        events = check_stream(self.client.say(self.conversation(), content))
        self.assertEqual(text_of(events), "You said: " + content)

    def test_a_chunked_request_body_is_as_good(self):
        conversation = self.conversation()
        body = b'{"content":"say in pieces"}'
        with self.client.connect() as connection:
            connection.send(self.client.encode("POST", f"/v1/conversations/{conversation}/messages", None,
                                               {"Transfer-Encoding": "chunked", "Content-Type": "application/json"}))
            for byte in body:
                connection.send(b"1\r\n" + bytes([byte]) + b"\r\n")
            connection.send(b"0\r\n\r\n")
            self.assertEqual(text_of(check_stream(list(connection.response("POST").lines()))), "in pieces")

    def test_a_head_that_comes_a_byte_at_a_time_is_read(self):
        with self.client.connect() as connection:
            for byte in self.client.encode("GET", "/v1/conversations"):
                connection.send(bytes([byte]))
            self.assertEqual(connection.response().status, 200)

    def test_pipelined_requests_are_answered_in_order(self):
        conversation = self.conversation()
        post = self.client.encode("POST", f"/v1/conversations/{conversation}/messages", {"content": "say in line"})
        with self.client.connect() as connection:
            connection.send(self.client.encode("GET", "/healthz") + post +
                            self.client.encode("GET", f"/v1/conversations/{conversation}/messages") +
                            self.client.encode("GET", "/v1/none"))
            self.assertEqual(connection.response().json(), {"status": "ok"})
            check_stream(list(connection.response("POST").lines()))
            self.assertEqual(len(connection.response().json()["data"]), 2)
            self.assertEqual((answer := connection.response()).status, 404)
            answer.body

    def test_expect_100_continue_is_answered(self):
        conversation = self.conversation()
        head, body = self.client.encode("POST", f"/v1/conversations/{conversation}/messages", {"content": "say go"},
                                        {"Expect": "100-continue"}).split(b"\r\n\r\n")
        with self.client.connect() as connection:
            connection.send(head + b"\r\n\r\n")
            self.assertEqual(connection.response("HEAD").status, 100)
            connection.send(body)
            check_stream(list(connection.response("POST").lines()))


class Heads(BadInputTest):
    def raw(self, data):
        """What comes back for these bytes until the server closes or goes silent; empty if it just closes."""
        with self.client.connect(patience_s=20) as connection:
            connection.send(data)
            connection.socket.shutdown(socket.SHUT_WR)
            return connection.read_to_end()

    def assert_refused(self, data, *statuses):
        answer = self.raw(data)
        self.assertTrue(answer.startswith(tuple(b"HTTP/1.1 %d " % status for status in statuses)), (data[:80], answer))
        self.assertEqual(responses_in(answer), 1, answer)
        self.assertIn(b"application/problem+json", answer)

    def test_with_thousands_of_fields_are_too_large(self):
        fields = {f"X-{i}": "v" for i in range(5000)}
        self.assert_problem(self.client.request("GET", "/v1/conversations", None, fields), 431, "headers-too-large")

    def test_with_a_huge_field_or_path_are_too_large(self):
        self.assert_problem(self.client.request("GET", "/v1/conversations", None, {"X-Big": "v" * 100_000}),
                            431, "headers-too-large")
        answer = self.client.request("GET", "/v1/" + "a" * 100_000)
        self.assertIn(answer.status, (414, 431))

    def test_that_could_be_read_in_two_ways_are_refused(self):
        """Request smuggling: two lengths, or a length and chunks."""
        body = b'{"content":"smuggled"}'
        good = self.client.encode("POST", self.path, body)
        length = b"Content-Length: %d\r\n" % len(body)
        self.assertIn(length, good)
        for twist in (length + b"Transfer-Encoding: chunked\r\n", length + b"Content-Length: 5\r\n",
                      b"Content-Length: +22\r\n", b"Content-Length: 0x16\r\n", b"Content-Length: 22, 22\r\n",
                      b"Content-Length: -1\r\n", b"Content-Length : 22\r\n",
                      b"Content-Length: 99999999999999999999\r\n", b"Transfer-Encoding: gzip, chunked\r\n",
                      b"Transfer-Encoding: chunked, chunked\r\n",
                      b"Transfer-Encoding: xchunked\r\n", b"Transfer-Encoding:\x0bchunked\r\n"):
            answer = self.raw(good.replace(length, twist))
            self.assertRegex(answer, rb"^HTTP/1\.1 (400|411|413|501) ", twist)
            self.assertEqual(responses_in(answer), 1, twist)

    def test_that_are_not_http_are_refused(self):
        for data in (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 80, b"hello\r\n\r\n",
                     b"GET / HTTP/9.9\r\nHost: x\r\n\r\n", b"GET  / HTTP/1.1\r\nHost: x\r\n\r\n",
                     b"GET /\x00 HTTP/1.1\r\nHost: x\r\n\r\n", b"GET / HTTP/1.1\r\nHo st: x\r\n\r\n",
                     b"GET / HTTP/1.1\r\n Host: x\r\n\r\n", b"GET / HTTP/1.1\nHost x\n\n",
                     b"GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n folded\r\n\r\n", b"GET / HTTP/1.1\r\nA: \x00\r\n\r\n"):
            answer = self.raw(data)
            self.assertRegex(answer, rb"^(HTTP/1\.1 (400|414|431|501|505) |$)", data[:60])
            self.assertLessEqual(responses_in(answer), 1)

    def test_bad_chunks_are_refused(self):
        head = self.client.encode("POST", self.path, None, {"Transfer-Encoding": "chunked"})
        for body in (b"zz\r\n", b"-5\r\nhello\r\n0\r\n\r\n", b"5\r\nhelloXX0\r\n\r\n", b"fffffffffffffffff\r\n",
                     b"5;" + b"e" * 50_000 + b"\r\nhello\r\n0\r\n\r\n"):
            self.assert_refused(head + body, 400, 413)

    def test_paths_do_not_climb(self):
        for path in ("/../../etc/passwd", "/v1/../../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd",
                     "/problems/..%2f..%2fetc%2fpasswd", "/problems/%00", "/v1/conversations/..",
                     "/v1/conversations/%ff",
                     f"/v1/conversations/{self.target}%2fmessages", "/v1/conversations/con_%00", "/problems/<script>"):
            answer = self.client.get(path.replace("<", "%3C").replace(">", "%3E"))
            self.assertIn(answer.status, (400, 404), path)
            self.assertNotIn(b"root:", answer.body)
            self.assertNotIn(b"<script>", answer.body)

    def test_a_query_in_bad_encoding_is_refused(self):
        for query in ("limit=%zz", "user_id=%ff", "user_id=%00", "user_id=%"):
            self.assertIn(self.client.get(f"/v1/conversations?{query}").status, (400, 422), query)

    def test_bad_credentials_do_not_open(self):
        key = self.client.key
        for value in ("", "Bearer", "Bearer ", f"Basic {key}", key, f"Bearer {key}x", f"Bearer {key[:-1]}",
                      f"Bearer {key} {key}", f"bearer{key}", "Bearer " + "k" * 5000):
            answer = self.server.client("").request("GET", "/v1/conversations", None, {"Authorization": value})
            self.assert_problem(answer, 401, "unauthenticated")

    def test_two_credentials_do_not_open(self):
        data = encode_request("GET", "/v1/conversations", None, self.client.headers())
        line = b"Authorization: Bearer " + self.client.key.encode() + b"\r\n"
        answer = self.raw(data.replace(line, line + b"Authorization: Bearer other\r\n"))
        self.assertRegex(answer, rb"^HTTP/1\.1 (400|401) ")


class BadClients(BadInputTest):
    # Whoever waits until those who send nothing more are cut off waits in vain.
    flags = ("--limits.request_head_seconds", str(int(10 * PATIENCE_S)),
             "--limits.request_body_seconds", str(int(10 * PATIENCE_S)))

    def test_half_open_connections_do_not_stop_the_others(self):
        held = [self.client.connect() for _ in range(200)]
        try:
            for index, connection in enumerate(held):
                connection.send(self.client.encode("POST", self.path, {"content": "never"})[:index % 150])
            check_stream(self.client.say(self.conversation(), "say still here"))
        finally:
            for connection in held:
                connection.close()

    def test_a_client_that_stops_reading_is_alone_with_it(self):
        conversation = self.conversation()
        stuck = self.client.open("POST", f"/v1/conversations/{conversation}/messages", {"content": "tokens 20000"},
                                 receive_buffer=4096)
        with stuck.connection:
            run = f"/v1/runs/{stuck.header('x-run-id')}"
            wait_until(lambda: self.client.get(run).json()["state"] == "completed", "the unread run ends")
            check_stream(self.client.say(self.conversation(), "say next"))

    def test_clients_that_reset_in_the_middle_leave_no_trace_but_the_run(self):
        for _ in range(30):
            conversation = self.conversation()
            answer = self.client.send(conversation, "tokens 200 2000")
            next(answer.lines())
            at_once = struct.pack("ii", 1, 0)  # closing sends a reset
            answer.connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, at_once)
            answer.close()
        events = check_stream(self.client.events(answer.header("x-message-id")))
        self.assertEqual(events[-1]["type"], "message_end")

    def test_a_storm_of_bad_requests_does_not_grow_the_server(self):
        def storm():
            for _ in range(100):
                self.client.post(self.path, b'{"content":' + b"[" * 500)
                self.client.get("/v1/conversations/nonsense")

        storm()
        before = self.server.rss_kib()
        threads = [threading.Thread(target=storm) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(2 * PATIENCE_S)
        if not is_sanitized():
            self.assertLess(self.server.rss_kib() - before, 16 * 1024)


if __name__ == "__main__":
    unittest.main()
