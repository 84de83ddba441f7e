"""Damage is named by `sluice store verify`, and the server serves all that is not damaged."""
import json
import os
import pty
import sqlite3
import subprocess
import unittest

from http_client import Truncated
from server_process import BINARY, Server
from upkeep_fixture import environment, messages, sluice, talk


class VerifyTest(unittest.TestCase):
    def setUp(self):
        self.server = Server("--sandbox.driver", "off")
        self.addCleanup(self.server.remove)
        self.server.start()
        self.damaged = talk(self.server.client(), "The one that will be damaged.")
        self.others = [talk(self.server.client(), f"Another, number {n}.") for n in range(5)]
        self.before = self.all_of(self.damaged)
        self.server.stop()
        self.database = self.server.data / "sluice.db"

    def all_of(self, conversation):
        """Every way to read it, with what is read."""
        client = self.server.client()
        listed = f"/v1/conversations/{conversation}/messages"
        answer = next(m for m in messages(client, conversation) if m["role"] == "assistant")
        return {path: client.get(path).body for path in
                (listed, f"/v1/messages/{answer['id']}", f"/v1/messages/{answer['id']}/events")}

    def tell(self, sql, *values):
        with sqlite3.connect(self.database) as db:
            changed = db.execute(sql, values).rowcount
        db.close()
        self.assertGreater(changed, 0, sql)

    def verify(self):
        code, out, err = sluice("store", "verify", "--json", "--data", self.server.data)
        return code, json.loads(out)["damage"], err

    def assert_named(self, table, what=""):
        code, damage, err = self.verify()
        self.assertEqual(code, 1, err)
        self.assertTrue([d for d in damage if d["table"] == table and d["id"] and what in d["what"]], damage)
        for each in damage:
            self.assertTrue(each["what"] and each["remedy"], each)

    def assert_others_served(self, shows=True):
        """And whoever asks for what is damaged gets it as it was, a problem that says that the fault is ours, or
        a stream that breaks off."""
        self.server.start()
        client = self.server.client()
        answered = {}
        for path, was in self.before.items():
            try:
                answer = client.get(path)
            except Truncated:
                self.assertTrue(path.endswith("/events"), path)
                answered[path] = "cut"
                continue
            answered[path] = answer.status
            if answer.status == 200 and shows:
                self.assertEqual(answer.body, was, path)
            elif answer.status != 200:
                self.assertIn(answer.status, (500, 503), answer.body)
                self.assertEqual(answer.header("content-type"), "application/problem+json")
                self.assertNotIn(b"Another, number", answer.body)
        for conversation in self.others:
            self.assertEqual(len(messages(client, conversation)), 2)
            talk(client, "Go on.", conversation)
        self.assertTrue(self.server.alive())
        self.server.stop()
        return answered

    def first_run(self):
        with sqlite3.connect(self.database) as db:
            return db.execute("SELECT min(number) FROM runs").fetchone()[0]

    def test_how_far_it_is_stands_on_a_terminal_only(self):
        words = ("store", "verify", "--data", self.server.data)
        code, out, err = sluice(*words)
        self.assertEqual((code, err), (0, ""), out)
        self.assertRegex(out, r"\ALooked at: \d+ rows besides the journals, 6 runs with \d+ events, 0 files; no damage.\n\Z")
        shown, terminal = pty.openpty()
        self.addCleanup(os.close, shown)
        with os.fdopen(terminal) as stderr:
            subprocess.run([str(BINARY), *words], env=environment(), stdout=subprocess.DEVNULL, stderr=stderr, timeout=60,
                           check=True)
        told = b""
        while b"checking messages: " not in told:
            told += os.read(shown, 4000)  # an error at its end
        while not told.endswith(b"\r\x1b[K"):  # the line is cleared in the end
            told += os.read(shown, 4000)
        self.assertNotIn(b"\n", told, "each report is written over the one before")

    def test_a_sound_store_is_sound_also_beside_the_server(self):
        self.assertEqual(self.verify()[:2], (0, []))
        self.server.start()
        self.assertEqual(self.verify()[:2], (0, []))
        code, out, _ = sluice("store", "verify", "--data", self.server.data)
        self.assertEqual((code, "no damage" in out), (0, True), out)

    def damage_journal(self, sql):
        """{} stands for its bytes."""
        run = self.first_run()
        with sqlite3.connect(self.database) as db:
            table, column = ("journal", "batch") if db.execute(
                "SELECT count(*) FROM journal WHERE run = ?", (run,)).fetchone()[0] else ("sealed_journals", "batch_zstd")
        self.tell(f"UPDATE {table} SET {column} = CAST({sql.format(column)} AS BLOB) WHERE run = ?", run)

    def test_a_journal(self):
        self.damage_journal("substr({0}, 1, 30) || x'00' || substr({0}, 32)")
        code, damage, _ = self.verify()
        self.assertEqual(code, 1)
        self.assertIn("run_", "".join(d["id"] for d in damage))
        self.assert_others_served()

    def test_a_journal_that_was_cut_short(self):
        self.damage_journal("substr({}, 1, 30)")
        self.assert_named("journal" if "journal" in str(self.verify()[1]) else "sealed_journals")
        listed, message, events = self.assert_others_served().values()
        self.assertEqual((listed, message), (200, 200), "messages are whole")
        self.assertEqual(events, "cut", "nobody may take it for the whole stream")

    def test_a_message(self):
        self.tell("UPDATE messages SET json = replace(json, 'damaged', 'd@maged') WHERE run = ?", self.first_run())
        self.assert_named("messages", "not what its journal ends with")
        self.assert_others_served(shows=False)  # it is text as before

    def test_a_message_that_is_no_json(self):
        self.tell("UPDATE messages SET json = '{' WHERE run = ?", self.first_run())
        self.assert_named("messages")
        listed, message, events = self.assert_others_served().values()
        self.assertEqual((listed, message, events), (500, 500, 200), "its journal is whole")

    def test_a_page(self):
        self.server.start()
        client = self.server.client()
        for n in range(40):
            talk(client, f"{n} " + "page " * 500, self.damaged)
        self.before = self.all_of(self.damaged)
        self.server.stop()
        with sqlite3.connect(self.database) as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        db.close()
        whole = bytearray(self.database.read_bytes())
        at = whole.find(b"page " * 100, len(whole) // 2)
        self.assertGreater(at, 0)
        whole[at // 4096 * 4096:at // 4096 * 4096 + 4096] = b"\xa5" * 4096
        self.database.write_bytes(whole)
        code, damage, err = self.verify()
        self.assertEqual(code, 1, err)
        self.assertTrue([d for d in damage if d["table"] in ("messages", "journal", "sealed_journals")], damage)
        self.assert_others_served()

    def test_an_unfinished_run_is_named_in_the_log_of_the_server(self):
        run = self.first_run()
        self.tell("UPDATE runs SET state = 'asleep', ended_at = NULL WHERE number = ?", run)
        self.tell("INSERT INTO flights SELECT conversation, number FROM runs WHERE number = ?", run)
        self.assert_named("runs", "not one of ours")
        self.assert_others_served()
        self.assertIn("the store is damaged", self.server.log())


if __name__ == "__main__":
    unittest.main()
