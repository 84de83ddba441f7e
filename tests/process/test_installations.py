"""An installation that an older program made, killed in the middle of its work, is opened by this one: what was finished reads
as it did, byte for byte, and what was under way is resumed."""
import gzip
import json
import subprocess
import unittest

import installation_fixture
from gate_fixture import Approver
from postgres import Postgres, programs
from server_process import Server, wait_until
from stream_grammar import check_stream
from upkeep_fixture import messages


class Installations:
    """The tests of one kind of store. `serve` opens an installation with this program."""

    def test_a_finished_answer_of_an_older_program_reads_as_it_did(self):
        for folder in installation_fixture.installations():
            picture, client, _ = self.open(folder)
            for conversation, shown in picture["messages"].items():
                self.assertEqual(messages(client, conversation), shown)
            for message, lines in picture["streams"].items():
                self.assertEqual([line.decode() for line in client.events(message)], lines)

    def test_I8_runs_of_an_older_program_are_resumed_in_every_state(self):
        for folder in installation_fixture.installations():
            picture, client, approver = self.open(folder)
            working, held = picture["working"], picture["held"]
            states = {run["id"]: run["state"] for run in client.get("/v1/runs?limit=100").json()["data"]}
            self.assertEqual([states[run] for run in held], ["held", "held"])
            self.cancel(client, working)
            for number, run in enumerate(held):
                done = wait_until(lambda run=run: self.run_if(client, run, "completed"), f"{run} is completed")
                stream = check_stream(client.events(done["message_id"]))
                self.assertEqual(stream[-1]["data"]["message"]["content"], f"held {number}")
            approval = picture["parked"]["approval"]
            answer = client.post(f"/v1/approvals/{approval}/approve", {"signature": approver.signature(approval)})
            self.assertEqual(answer.status, 200, answer.body)
            stream = check_stream(client.events(picture["parked"]["message"]))
            self.assertEqual(stream[-1]["data"]["message"]["content"], "before\nafter")

    def cancel(self, client, run):
        # Until the run has been taken up, nothing can be cancelled.
        wait_until(lambda: client.post(f"/v1/runs/{run}/cancel").status < 300, f"{run} is cancelled")

    def run_if(self, client, run, state):
        found = client.get(f"/v1/runs/{run}").json()
        return found if found["state"] == state else None

    def open(self, folder):
        server, picture = self.serve(folder)
        self.addCleanup(server.remove)
        server.start()
        return picture, server.client(), Approver.of(server)


class OnSqlite(Installations, unittest.TestCase):
    def serve(self, folder):
        server = Server(*installation_fixture.FLAGS, "--sandbox.driver", "off")
        installation_fixture.unpack(folder / "sqlite.tar.gz", server.data)
        return server, json.loads((folder / "sqlite.json").read_text())


class OnPostgres(Installations, unittest.TestCase):
    def serve(self, folder):
        postgres = Postgres(settings=["fsync=off"]).start()
        self.addCleanup(postgres.close)
        subprocess.run([programs() / "psql", "-Xq", "-v", "ON_ERROR_STOP=1", postgres.url], stdout=subprocess.DEVNULL,
                       input=gzip.decompress((folder / "postgres.sql.gz").read_bytes()), check=True)
        server = Server(*installation_fixture.FLAGS, "--sandbox.driver", "off", "--store", postgres.url)
        installation_fixture.unpack(folder / "postgres.tar.gz", server.data)
        return server, json.loads((folder / "postgres.json").read_text())


if __name__ == "__main__":
    unittest.main()
