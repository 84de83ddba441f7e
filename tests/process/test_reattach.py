"""I-8: a client that disconnects changes nothing, and a client that re-attaches reads the same bytes."""
import json
import threading
import time
import unittest

from http_client import PATIENCE_S
from server_process import ServerTest, is_sanitized, wait_until
from stream_grammar import check_stream, slug_of, text_of


class AReaderWhoReturns(ServerTest):
    def test_I8_gets_the_same_bytes_from_any_position(self):
        lines = self.client.say(self.conversation(), "tokens 25")
        message = json.loads(lines[0])["message_id"]
        self.assertEqual(self.client.events(message), lines)
        for after in range(len(lines)):
            self.assertEqual(self.client.events(message, after), lines[after + 1:], f"after {after}")

    def test_I8_gets_a_long_answer_again_page_after_page(self):
        lines = self.client.say(self.conversation(), "tokens 20000")
        message = json.loads(lines[0])["message_id"]
        self.assertEqual(self.client.events(message), lines)
        self.assertEqual(self.client.events(message, 10_000), lines[10_001:])

    def test_I8_the_run_continues_after_the_client_disconnected(self):
        conversation = self.conversation()
        answer = self.client.send(conversation, "tokens 40 100")
        with answer.connection:
            stream = answer.lines()
            seen = [next(stream) for _ in range(5)]
        message = answer.header("x-message-id")
        lines = self.client.events(message)
        self.assertEqual(lines[:5], seen)
        self.assertEqual(text_of(check_stream(lines)).split()[-1], "w40")
        self.assertEqual(self.messages(conversation)[1]["status"], "completed")

    def test_I8_reads_on_live_from_where_it_left(self):
        answer = self.client.send(self.conversation(), "tokens 40 80")
        with answer.connection:
            stream = answer.lines()
            seen = [next(stream) for _ in range(7)]
        rest = self.client.events(answer.header("x-message-id"), after=6)
        check_stream(seen + rest)

    def test_I8_two_readers_at_once_read_the_same(self):
        answer = self.client.send(self.conversation(), "tokens 40 80")
        message, copies = answer.header("x-message-id"), []
        readers = [threading.Thread(target=lambda: copies.append(self.client.events(message))) for _ in range(4)]
        for reader in readers:
            reader.start()
        with answer.connection:
            lines = list(answer.lines())
        for reader in readers:
            reader.join(PATIENCE_S)
        check_stream(lines)
        self.assertEqual(copies, [lines] * 4)

    def test_I8_a_position_beyond_the_end_is_refused(self):
        lines = self.client.say(self.conversation(), "say short")
        message = json.loads(lines[0])["message_id"]
        self.assertEqual(self.client.events(message, len(lines) - 1), [])
        for after in (len(lines), 99999, "-2", "seven", "1.5", "9" * 30):
            self.assert_problem(self.client.get(f"/v1/messages/{message}/events?after={after}"),
                                422, "validation-error")

    def test_I8_user_messages_and_strangers_have_no_events(self):
        conversation = self.conversation()
        self.client.say(conversation, "say hi")
        asked = self.messages(conversation)[0]["id"]
        self.assert_problem(self.client.get(f"/v1/messages/{asked}/events"), 404, "not-found")
        self.assert_problem(self.client.get("/v1/messages/msg_01aaaaaaaaaaaaaaaaaaaaaaaa/events"), 404, "not-found")

    def test_I8_a_failed_run_replays_its_error(self):
        lines = self.client.say(self.conversation(), "say so far\ncut")
        again = self.client.events(json.loads(lines[0])["message_id"])
        self.assertEqual(again, lines)
        self.assertEqual(slug_of(json.loads(again[-1])["data"]), "model-stream-cut")


class ServerSentEvents(ServerTest):
    def frames(self, message, headers=None, query=""):
        answer = self.client.open("GET", f"/v1/messages/{message}/events{query}", None,
                                  {"Accept": "text/event-stream"} | (headers or {}))
        with answer.connection:
            self.assertEqual((answer.status, answer.header("content-type")), (200, "text/event-stream"))
            self.assertEqual(answer.header("cache-control"), "no-store")
            body = b"".join(answer.pieces())
        self.assertTrue(body == b"" or body.endswith(b"\n\n"))
        return [self.fields(frame) for frame in body.split(b"\n\n")[:-1]]

    def fields(self, frame):
        lines = [line for line in frame.split(b"\n") if not line.startswith(b":")]
        names = [line.split(b": ", 1)[0] for line in lines]
        self.assertEqual(names, [b"id", b"event", b"data"], frame)
        return [line.split(b": ", 1)[1] for line in lines]

    def test_I8_sse_carries_the_very_same_lines(self):
        lines = self.client.say(self.conversation(), "say a b c \u2028 d")
        events = check_stream(lines)
        frames = self.frames(events[0]["message_id"])
        self.assertEqual([data for _, _, data in frames], lines)
        self.assertEqual([(int(seq), kind.decode()) for seq, kind, _ in frames],
                         [(e["seq"], e["type"]) for e in events])

    def test_I8_last_event_id_counts_as_after(self):
        lines = self.client.say(self.conversation(), "say a b c d")
        message = json.loads(lines[0])["message_id"]
        self.assertEqual([f[2] for f in self.frames(message, {"Last-Event-ID": "2"})], lines[3:])
        self.assertEqual([f[2] for f in self.frames(message, query="?after=2")], lines[3:])

    def test_I8_sse_follows_a_live_run(self):
        answer = self.client.send(self.conversation(), "tokens 20 60")
        with answer.connection:
            frames = self.frames(answer.header("x-message-id"))
            self.assertEqual([f[2] for f in frames], list(answer.lines()))


class ASlowReader(ServerTest):
    # Cutting off slow readers is another test; here no reader is cut off, however slow the machine is.
    flags = ("--limits.write_stall_seconds", "600")

    def test_I8_gets_everything_and_holds_up_neither_run_nor_memory(self):
        """2 MB of tokens to readers with small windows that do not read until the run is over."""
        # A delta's line is some 200 bytes: 12,000 of them are well over 2 MB.
        count, readers = 12_000, 8
        baseline = self.server.rss_kib()
        conversations = [self.conversation() for _ in range(readers)]
        open_streams = [self.client.open("POST", f"/v1/conversations/{c}/messages", {"content": f"tokens {count}"},
                                         receive_buffer=4096, patience_s=6 * PATIENCE_S)
                        for c in conversations]
        for stream in open_streams:
            path = f"/v1/runs/{stream.header('x-run-id')}"
            wait_until(lambda: self.client.get(path).json()["state"] == "completed", "the run ends unread", 2 * PATIENCE_S)
        grown_kib = self.server.rss_kib() - baseline
        for conversation, stream in zip(conversations, open_streams):
            with stream.connection:
                lines = []
                for line in stream.lines():
                    lines.append(line)
                    if len(lines) < 200:
                        time.sleep(0.001)
            self.assertGreater(sum(map(len, lines)), 2_000_000)
            events = check_stream(lines)
            self.assertEqual(len(events), count + 2)
        if not is_sanitized():
            # Eight times 2 MB unsent would be 16 MB and more; a bounded buffer is 256 KiB each.
            self.assertLess(grown_kib, 48 * 1024, "unread streams pile up in memory")

    def test_I8_a_reader_that_never_reads_costs_the_others_nothing(self):
        stuck = self.client.open("POST", f"/v1/conversations/{self.conversation()}/messages",
                                 {"content": "tokens 20000"}, receive_buffer=4096)
        with stuck.connection:
            # While the first reader reads nothing, the other one receives everything without waiting.
            check_stream(self.client.say(self.conversation(), "tokens 500"))


if __name__ == "__main__":
    unittest.main()
