"""Backups of a running server, restored; and what must not come of one that is killed, or has no room."""
import itertools
import json
import os
import signal
import subprocess
import threading
import unittest

from postgres import Postgres
from server_process import BINARY, Server, wait_until
from test_files import form
from upkeep_fixture import environment, messages, sluice, talk


class Load:
    """Load until it is stopped: conversations in several threads, and files that are uploaded and deleted."""

    def __init__(self, server):
        self.server, self.told, self.failures, self.stopped = server, [], [], threading.Event()
        self.threads = [threading.Thread(target=self.go, args=(work,)) for work in 4 * [self.talk] + [self.upload]]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        wait_until(lambda: len(self.told) > 40 or self.failures, "there is load")
        return self

    def __exit__(self, *_):
        self.stopped.set()
        for thread in self.threads:
            thread.join()

    def go(self, work):
        try:
            work(self.server.client())
        except Exception as why:  # pylint: disable=broad-except
            self.failures.append(why)

    def talk(self, client):
        conversation, count = None, 0
        while not self.stopped.is_set():
            conversation = talk(client, f"word {count}", conversation)
            count += 1
            self.told.append((conversation, count))

    def upload(self, client):
        for count in itertools.count():
            if self.stopped.is_set():
                return
            kind, body = form((f"file-{count}.txt", f"content {count}".encode()))
            made = client.post("/api/assistant/files", body, kind)
            assert made.status == 201, made.body
            gone = client.delete(f"/api/assistant/files/{made.json()['files'][0]['id']}")
            assert gone.status < 300, gone.body


def streams(client, conversations):
    """Every byte of every answer's stream."""
    return {message["id"]: client.events(message["id"]) for conversation in sorted(conversations)
            for message in messages(client, conversation) if message["role"] == "assistant"}


class BackupTest(unittest.TestCase):
    def setUp(self):
        self.server = Server("--sandbox.driver", "off")
        self.addCleanup(self.server.remove)
        self.server.start()
        self.home = self.server.home

    def restored(self, backup, *, keys=True):
        """A server on what was restored."""
        data = self.home / f"restored-{backup.name}"
        code, out, err = sluice("restore", backup, "--data", data)
        self.assertEqual(code, 0, out + err)
        if not keys:
            for name in ("vault.key", "bootstrap.json"):
                (data / name).write_bytes((self.server.data / name).read_bytes())
        other = Server("--sandbox.driver", "off", data=data)
        self.addCleanup(other.remove)
        return other.start()

    def test_under_load_nothing_that_was_answered_before_is_missing(self):
        with Load(self.server) as load:
            before = list(load.told)
            code, out, err = sluice("backup", self.home / "b", "--data", self.server.data)
            self.assertEqual(code, 0, out + err)
        self.assertEqual(load.failures, [])
        self.assertFalse((self.home / "b" / "keys").exists())
        self.assertIn("not in it", err)
        self.server.stop()

        other = self.restored(self.home / "b", keys=False)
        client = other.client()
        for conversation in {c for c, _ in before}:
            most = max(n for c, n in before if c == conversation)
            self.assertGreaterEqual(len(messages(client, conversation)), 2 * most)
        talk(client, "and on", before[0][0])
        code, out, err = sluice("store", "verify", "--data", other.data)
        self.assertEqual(code, 0, out + err)

    def test_keys_are_in_the_backup_on_request(self):
        conversation = talk(self.server.client(), "hello")
        code, out, err = sluice("backup", self.home / "k", "--with-keys", "--data", self.server.data)
        self.assertEqual(code, 0, out + err)
        subprocess.run(["sha256sum", "--quiet", "-c", "SHA256SUMS"], cwd=self.home / "k", check=True)
        self.assertEqual((self.home / "k").stat().st_mode & 0o777, 0o700)
        self.server.stop()
        other = self.restored(self.home / "k")
        self.assertEqual(len(messages(other.client(), conversation)), 2)

    def test_a_server_that_is_refused_for_want_of_the_vaults_key_makes_no_other_in_its_place(self):
        conversation = talk(self.server.client(), "hello")
        self.assertEqual(sluice("backup", self.home / "b", "--data", self.server.data)[0], 0)
        self.server.stop()
        data = self.home / "restored"
        self.assertEqual(sluice("restore", self.home / "b", "--data", data)[0], 0)
        other = Server("--sandbox.driver", "off", data=data)
        self.addCleanup(other.remove)
        for _ in range(2):
            with self.assertRaisesRegex(AssertionError, "vault.key_file"):
                other.start()
            self.assertEqual([name for name in ("vault.key", "bootstrap.json") if (data / name).exists()], [])
        (data / "vault.key").write_bytes((self.server.data / "vault.key").read_bytes())
        other.flags = ["--server.admin_key", self.server.bootstrap["admin_key"]]
        client = other.start().client(self.server.bootstrap["service_key"])
        self.assertEqual(len(messages(client, conversation)), 2)

    def test_nothing_is_written_over(self):
        code, _, _ = sluice("backup", self.home / "b", "--data", self.server.data)
        self.assertEqual(code, 0)
        code, _, err = sluice("backup", self.home / "b", "--data", self.server.data)
        self.assertEqual((code, "is there already" in err), (1, True), err)
        code, _, err = sluice("restore", self.home / "b", "--data", self.server.data)
        self.assertEqual((code, "is in use" in err), (1, True), err)
        self.assertEqual(sluice("backup")[0], 2)
        self.assertEqual(sluice("store", "mend")[0], 2)

    def test_a_backup_that_was_changed_is_refused(self):
        talk(self.server.client(), "hello")
        self.assertEqual(sluice("backup", self.home / "b", "--data", self.server.data)[0], 0)
        database = self.home / "b" / "sluice.db"
        whole = bytearray(database.read_bytes())
        whole[len(whole) // 2] ^= 1
        database.write_bytes(whole)
        code, _, err = sluice("restore", self.home / "b", "--data", self.home / "r")
        self.assertEqual((code, "sluice.db is not what was written" in err), (1, True), err)
        self.assertFalse((self.home / "r").exists())
        database.unlink()
        code, _, err = sluice("restore", self.home / "b", "--data", self.home / "r")
        self.assertEqual((code, "is missing" in err), (1, True), err)

    def test_one_that_is_killed_has_no_name_and_is_not_in_the_way(self):
        for count in range(20):
            talk(self.server.client(), f"{count} " + "long " * 2000)
        for _ in range(5):
            process = subprocess.Popen([str(BINARY), "backup", str(self.home / "b"), "--data", str(self.server.data)],
                                       env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            wait_until(lambda p=process: (self.home / "b.partial").exists() or p.poll() is not None, "it has begun")
            process.send_signal(signal.SIGKILL)
            process.wait()
            if (self.home / "b").exists():  # it was quicker
                break
        else:
            code, out, err = sluice("backup", self.home / "b", "--data", self.server.data)
            self.assertEqual(code, 0, out + err)
        self.assertFalse((self.home / "b.partial").exists())
        self.assertEqual(sluice("restore", self.home / "b", "--data", self.home / "r")[0], 0)

    def test_export_and_import(self):
        conversation = talk(self.server.client(), "hello")
        file = self.home / "store.export"
        code, out, err = sluice("store", "export", file, "--data", self.server.data)
        self.assertEqual(code, 0, out + err)
        self.assertRegex(out, r"\d+ rows, those of journals among them")
        code, _, err = sluice("store", "import", file, "--data", self.server.data)
        self.assertEqual(code, 1, err)
        self.server.stop()
        other = self.home / "other.db"
        code, out, err = sluice("store", "import", file, "--store", f"sqlite:{other}")
        self.assertEqual(code, 0, out + err)
        code, out, err = sluice("store", "migrate", f"sqlite:{other}", f"sqlite:{self.home / 'third.db'}")
        self.assertEqual(code, 0, out + err)
        self.server.flags = ["--store", f"sqlite:{self.home / 'third.db'}"]
        self.server.start()
        self.assertEqual(len(messages(self.server.client(), conversation)), 2)

    def test_what_nothing_names_is_swept_while_the_server_is_stopped(self):
        code, _, err = sluice("store", "sweep", "--data", self.server.data)
        self.assertEqual((code, "in use" in err), (1, True), err)
        self.server.stop()
        stray = self.server.data / "files" / "ab" / ("c" * 62)
        stray.parent.mkdir(parents=True, exist_ok=True)
        stray.write_bytes(b"stray")
        code, out, err = sluice("store", "sweep", "--json", "--data", self.server.data)
        self.assertEqual((code, json.loads(out)), (0, {"removed": 0, "bytes": 0}), err)
        os.utime(stray, (1, 1))
        code, out, err = sluice("store", "verify", "--json", "--data", self.server.data)
        self.assertEqual((code, json.loads(out)["unused"]), (0, {"files": 1, "bytes": 5}), err)
        self.assertIn("1 files that nothing names, 5 bytes", sluice("store", "verify", "--data", self.server.data)[1])
        code, out, err = sluice("store", "sweep", "--json", "--data", self.server.data)
        self.assertEqual((code, json.loads(out)), (0, {"removed": 1, "bytes": 5}), err)


class OnPostgres(unittest.TestCase):
    def test_under_load_into_an_empty_database_with_the_same_streams(self):
        postgres = Postgres(settings=["fsync=off"]).start()  # processes die here, the machine does not
        self.addCleanup(postgres.close)
        server = Server("--store", postgres.url, "--sandbox.driver", "off")
        self.addCleanup(server.remove)
        server.start()
        with Load(server) as load:
            before = list(load.told)
            backup = server.home / "b"
            code, out, err = sluice("backup", backup, "--with-keys", "--data", server.data, "--store", postgres.url)
            self.assertEqual(code, 0, out + err)
        self.assertEqual(load.failures, [])
        conversations = {conversation for conversation, _ in before}
        there = streams(server.client(), conversations)
        server.stop()
        self.assertFalse((backup / "trial").exists())

        empty, data = postgres.create_database("empty"), server.home / "restored"
        code, out, err = sluice("restore", backup, "--data", data, "--store", empty)
        self.assertEqual(code, 0, out + err)
        code, out, err = sluice("store", "verify", "--json", "--data", data, "--store", empty)
        self.assertEqual((code, json.loads(out)["damage"]), (0, []), err)
        other = Server("--store", empty, "--sandbox.driver", "off", data=data)
        self.addCleanup(other.remove)
        client = other.start().client()
        here = streams(client, conversations)
        self.assertGreaterEqual(len(here), len(before))
        # A run that was unfinished at that moment was recovered and continues from its position.
        whole = {message: lines for message, lines in here.items() if there[message] == lines}
        self.assertGreaterEqual(len(whole), len(before))
        self.assertGreaterEqual(len(whole), len(here) - 4)
        talk(client, "and on", before[0][0])


class FullDisk(unittest.TestCase):
    """Told by a limit on the size of files, which needs no file system of its own."""

    def test_it_leaves_nothing_behind(self):
        server = Server("--sandbox.driver", "off")
        self.addCleanup(server.remove)
        server.start()
        for count in range(10):
            talk(server.client(), f"{count} " + "long " * 3000)
        limited = f"ulimit -f 64; exec '{BINARY}' backup '{server.home / 'b'}' --data '{server.data}'"
        done = subprocess.run(["bash", "-c", f"trap '' XFSZ; {limited}"], env=environment(), capture_output=True,
                              text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertFalse((server.home / "b").exists())
        self.assertFalse((server.home / "b.partial").exists())
        self.assertTrue(server.alive())


if __name__ == "__main__":
    unittest.main()
