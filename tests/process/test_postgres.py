"""A server whose PostgreSQL cannot write for a while: it is full, read-only or does not answer. Callers are told, nothing
that was told is lost, and when the database writes again so does the server, by itself (I-7, I-8). And every operation
of the API on a PostgreSQL that is well (I-23)."""
import copy
import json
import os
import pathlib
import random
import resource
import signal
import subprocess
import tempfile
import threading
import time
import unittest

import test_openapi
from http_client import PATIENCE_S
from openapi_examples import EXAMPLES
from postgres import Postgres
from server_process import Server, ServerTest, wait_until
from stream_grammar import check_stream

SEGMENT_BYTES = 1 << 20  # of the database's log, which must not be what is too large


def noise(size):
    """Text that a database cannot make smaller."""
    return random.Random(size).randbytes(size // 2).hex()


def setUpModule():
    Troubled.postgres = Postgres(settings=["fsync=off"], log_segment_mib=SEGMENT_BYTES >> 20)
    unittest.addModuleCleanup(Troubled.postgres.close)
    Troubled.postgres.start()


class Troubled(unittest.TestCase):
    postgres = None
    flags = ()

    def serve(self, database):
        self.server = Server("--store", self.postgres.url_of(database), "--sandbox.driver", "off", *self.flags)
        self.addCleanup(self.server.remove)
        self.server.start()
        self.client = self.server.client()
        self.conversation = self.client.post("/v1/conversations", {}).json()["id"]
        self.kept = self.client.say(self.conversation, "say kept")

    def begin(self, script):
        """A message whose agent is at work, and the lines of its stream so far."""
        conversation = self.client.post("/v1/conversations", {}).json()["id"]
        stream = self.client.send(conversation, script, patience_s=90)
        self.addCleanup(stream.close)
        lines = stream.lines()
        told = [next(lines)]
        while json.loads(told[-1])["type"] != "content_delta":
            told.append(next(lines))
        return told, lines

    def post(self, content):
        """Whether the message is accepted; the response of an accepted one may take long."""
        answer = self.client.open("POST", "/v1/conversations", {"initial_message": {"content": content,
                                                                                    "on_capacity": "hold"}})
        self.assertTrue(answer.status == 200 or answer.body)  # which reads it before it is closed
        answer.close()
        return answer

    def expect_refusal(self, answer):
        self.assertEqual(answer.status, 503, answer.body)
        self.assertEqual(answer.header("content-type"), "application/problem+json")
        self.assertGreaterEqual(int(answer.header("retry-after")), 1)
        self.assertEqual(answer.json()["detail"], "The store cannot write right now; nothing was created.")
        self.assertIn("message refused by the store", self.server.log())
        # Something small may find room yet: then it is ready for a moment.
        wait_until(lambda: self.client.get("/readyz").status == 503 or not self.post(noise(100_000)),
                   "the server says that it is not ready")
        self.assertEqual(self.client.get("/healthz").status, 200)

    def expect_all_is_well(self, told, lines):
        """Writes go on by themselves; the message that was under way misses nothing."""
        wait_until(lambda: self.post("say it works again").status == 200, "messages are taken again", 2 * PATIENCE_S)
        self.assertEqual(self.client.get("/readyz").status, 200)
        told += lines
        events = check_stream(told)
        self.assertEqual(events[-1]["type"], "message_end")
        self.assertEqual(self.client.events(events[0]["message_id"]), told)
        self.assertEqual(self.client.events(json.loads(self.kept[0])["message_id"]), self.kept)
        # A server that misses a beat, as on a machine with much to do, refuses for a moment, and nothing is created.
        answer = wait_until(lambda: (a := self.client.send(self.conversation, "say not stuck")).status != 503 and a,
                            "a message is taken")
        with answer.connection:
            check_stream(list(answer.lines()))


# What the database refuses is the subject, and not how long the server bears that its beats are refused too.
PATIENT = ("--node.dead_ms", str(int(10_000 * PATIENCE_S)))


class AFullDatabase(Troubled):
    """Its tables are on a tmpfs of their own; without the right to mount, under a limit on the size of files."""

    flags = PATIENT

    def setUp(self):
        self.mount = pathlib.Path(tempfile.mkdtemp(prefix="sluice-full-"))
        mount = ["mount", "-t", "tmpfs", "-o", "size=48m", "tmpfs", self.mount]
        self.mounted = subprocess.run(mount, capture_output=True, check=False).returncode == 0
        self.addCleanup(self.clean_up)
        self.postgres.make_space("small", self.mount)
        self.postgres.psql("CREATE DATABASE small TABLESPACE small")
        self.serve("small")

    def clean_up(self):
        self.free()
        self.postgres.psql("DROP DATABASE IF EXISTS small WITH (FORCE)")
        self.postgres.psql("DROP TABLESPACE small")
        if self.mounted:
            subprocess.run(["umount", "-l", self.mount], check=True)
        subprocess.run(["rm", "-r", self.mount], check=True)

    def fill(self):
        if not self.mounted:
            return self.limit(SEGMENT_BYTES)
        with open(self.mount / "ballast", "wb", buffering=0) as ballast:
            block = b"\0" * 65536
            while block:
                try:
                    ballast.write(block)
                except OSError:
                    block = block[:len(block) // 2]

    def free(self):
        if self.mounted:
            (self.mount / "ballast").unlink(missing_ok=True)
        else:
            self.limit(resource.RLIM_INFINITY)

    def limit(self, size):
        for pid in self.postgres.pids():
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    def test_refuses_messages_until_there_is_space(self):
        told, lines = self.begin("tokens 60 50")
        self.fill()
        self.expect_refusal(wait_until(lambda: (a := self.post(noise(100_000))).status != 200 and a, "it is full"))
        self.assertEqual(self.client.events(json.loads(self.kept[0])["message_id"]), self.kept)
        self.assertTrue(self.server.alive(), self.server.log()[-3000:])
        self.free()
        self.expect_all_is_well(told, lines)


class AReadOnlyDatabase(Troubled):
    """As after a failover to a standby that is not promoted yet."""

    flags = PATIENT

    def set_read_only(self, word):
        self.postgres.psql(f"ALTER DATABASE still SET default_transaction_read_only = {word}")
        self.postgres.psql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'still'")

    def test_refuses_messages_until_it_may_write(self):
        self.postgres.create_database("still")
        self.serve("still")
        told, lines = self.begin("tokens 60 50")
        self.set_read_only("on")
        answer = wait_until(lambda: (a := self.post("say no")).status != 200 and a, "messages are refused")
        self.expect_refusal(answer)
        self.assertEqual(self.client.events(json.loads(self.kept[0])["message_id"]), self.kept)
        self.set_read_only("off")
        self.expect_all_is_well(told, lines)


class ASilentDatabase(Troubled):
    """Stopped in the middle of everything, with its connections open."""

    def test_is_waited_for_and_what_was_sent_meanwhile_is_answered(self):
        self.serve("postgres")
        told, lines = self.begin("tokens 60 50")
        stopped = self.postgres.pids()
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        answers = []
        sender = threading.Thread(target=lambda: answers.append(self.post("say patience")))
        sender.start()
        try:
            wait_until(lambda: "cut off from the store" in self.server.log(), "the server notices")
            self.assertEqual(self.client.get("/healthz").status, 200)
        finally:
            for pid in stopped:
                os.kill(pid, signal.SIGCONT)
        sender.join(2 * PATIENCE_S)
        self.assertIn(answers[0].status, (200, 503))
        self.expect_all_is_well(told, lines)


    def test_is_said_to_be_away_and_cancels_are_answered(self):
        self.postgres.create_database("away")
        self.serve("away")
        told, lines = self.begin("tokens 100000 20")
        run = self.client.get("/v1/runs?limit=1").json()["data"][0]["id"]
        stopped = self.postgres.pids()
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        try:
            wait_until(lambda: self.client.get("/readyz").status == 503, "the server says that it is not ready")
            began = time.monotonic()
            answer = self.client.post(f"/v1/runs/{run}/cancel", patience_s=2 * PATIENCE_S)
            self.assertLess(time.monotonic() - began, PATIENCE_S)
            self.assertEqual(answer.status, 503, answer.body)
            self.assertIn(run, answer.json()["detail"])
        finally:
            for pid in stopped:
                os.kill(pid, signal.SIGCONT)
        wait_until(lambda: self.client.get("/readyz").status == 200, "the server is ready again", 2 * PATIENCE_S)
        wait_until(lambda: self.client.get(f"/v1/runs/{run}").json()["state"] == "cancelled", "the run is cancelled")
        self.assertEqual(check_stream(told + list(lines))[-1]["type"], "error")


class ALostCommit(Troubled):
    """The session ends while its commit waits for a standby: the outcome of the write is unknown."""

    def wait_for_standby(self, name):
        self.postgres.psql(f"ALTER SYSTEM SET synchronous_standby_names = '{name}'")
        self.postgres.psql("SELECT pg_reload_conf()")

    def end_waiting_sessions(self):
        """Not those that beat, which have no COMMIT of their own."""
        self.postgres.psql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'lost' AND "
                           "wait_event = 'SyncRep' AND query = 'COMMIT'")

    def test_of_a_record_stops_nothing_for_long(self):
        # Without a run, whose journal the server would tidy up: that, too, would find that something is wrong.
        self.server = Server("--store", self.postgres.create_database("lost"), "--sandbox.driver", "off")
        self.addCleanup(self.server.remove)
        self.client = self.server.start().client()
        admin, answers = self.server.admin(), []
        self.addCleanup(self.wait_for_standby, "")
        self.wait_for_standby("nobody")

        def send():  # until the database waits, which is some moments after the setting
            while (answer := admin.post("/v1/tenants", {"name": "lost"})).status == 201:
                pass
            answers.append(answer)

        sender = threading.Thread(target=send)
        sender.start()
        wait_until(lambda: self.end_waiting_sessions() or not sender.is_alive(), "a commit is lost")
        self.wait_for_standby("")
        self.assertEqual(answers[0].status, 503, answers[0].body)
        # No message comes, as from a balancer that heeds the readiness.
        wait_until(lambda: self.client.get("/readyz").status == 200, "the server is ready again", 2 * PATIENCE_S)
        self.assertEqual(self.server.admin().post("/v1/tenants", {"name": "kept"}).status, 201)


def texts_in(value, path=()):
    """Where they are: keys and indices from the top."""
    if isinstance(value, str):
        yield path
    elif isinstance(value, (dict, list)):
        for key, member in value.items() if isinstance(value, dict) else enumerate(value):
            yield from texts_in(member, (*path, key))


def with_nul(value, path):
    spoilt = copy.deepcopy(value)
    holder = spoilt
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] += "\0"
    return spoilt


class EveryOperation(test_openapi.TheServer):
    @classmethod
    def setUpClass(cls):
        url = Troubled.postgres.create_database("operations")
        cls.flags = (*test_openapi.TheServer.flags, "--store", url)
        super().setUpClass()


class Nul(ServerTest):
    key_for = test_openapi.TheServer.key_for
    schemes_of = test_openapi.TheServer.schemes_of

    @classmethod
    def setUpClass(cls):
        cls.flags = (*test_openapi.TheServer.flags, "--store", Troubled.postgres.create_database("nul"))
        super().setUpClass()

    def test_text_that_the_database_cannot_store_is_refused_or_stored_as_JSON(self):
        things = test_openapi.make_things(self)
        for _, method, operation in test_openapi.operations():
            for target, body, status, *_ in EXAMPLES[operation["operationId"]]:
                if status >= 300 or not isinstance(body, dict):
                    continue
                for path in texts_in(body):
                    with self.subTest(operation=operation["operationId"], path=path):
                        answer = self.key_for(operation).request(method.upper(), target.format(**things),
                                                                 with_nul(body, path))
                        self.assertIn(answer.status, (200, 201, 401, 404, 409, 422), answer.body[:500])


if __name__ == "__main__":
    unittest.main()
