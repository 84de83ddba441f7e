"""Installations that an older program made and left in the middle of its work, kept in tests/golden/installations.

`python3 installation_fixture.py FOLDER`, with SLUICE_BINARY set to that program, makes one: a data directory with its SQLite
database, the same in a PostgreSQL database, and what callers could see of each (picture.json). They hold answers that are over, with
tools and secrets, a run that waits for a human, one at work and two that wait for a slot. The server was killed.
"""
import gzip
import json
import pathlib
import subprocess
import sys
import tarfile

from postgres import Postgres, programs
from server_process import Server
from upkeep_fixture import messages, talk

# A person answers, and a slot frees, years after the installation was made.
CENTURY = "3153600000"
FLAGS = ("--capacity.max_running", "1", "--capacity.max_hold_seconds", CENTURY, "--approvals.expire_seconds", CENTURY,
         "--approvals.expire_seconds_max", CENTURY)
KEPT = ("bootstrap.json", "sluice.db", "sluice.db-wal", "vault.key")
SECRET = "mail-k3y-0123456789"


def lines_until(stream, *types):
    """Those of an open stream up to the first of these types."""
    found = []
    for line in stream.lines():
        found.append(line)
        if json.loads(line)["type"] in types:
            return found
    raise AssertionError(f"the stream ended before {types}: {found}")


def conversation(client):
    return client.post("/v1/conversations", {}).json()["id"]


def work(server):
    """Leaves a server in the middle of it all; gives what callers have seen."""
    client = server.client()
    finished = [talk(client, "say hello\ntokens 50"), talk(client, "think hm\nsay Zoë, 東京 🎏\n$ echo made > made.txt; echo shown\nsay done")]
    talk(client, "say and again", finished[0])
    agent = client.get("/v1/agents").json()["data"][0]["id"]
    rule = {"effect": "allow", "host": "mail.example", "secrets": ["MAIL_KEY"]}
    assert client.patch(f"/v1/agents/{agent}", {"policy": [rule]}).status == 200
    assert client.request("PUT", "/v1/secrets", {"secrets": {"MAIL_KEY": SECRET}}).status == 200
    failed = conversation(client)
    client.say(failed, "fail 500")
    finished.append(failed)

    parked = client.send(conversation(client), "say before\nask May I?\nsay after")
    asked = json.loads(lines_until(parked, "approval_required")[-1])
    working = client.send(conversation(client), "say at work\nhang")
    lines_until(working, "content_delta")
    held = [client.send(conversation(client), f"say held {i}", on_capacity="hold") for i in range(2)]
    for stream in held:
        lines_until(stream, "queued")

    shown = {of: messages(client, of) for of in finished}
    answers = [message["id"] for listed in shown.values() for message in listed if message["role"] == "assistant"]
    picture = {
        "messages": shown,
        "streams": {message: [line.decode() for line in client.events(message)] for message in answers},
        "parked": {"message": asked["message_id"], "approval": asked["data"]["id"]},
        "working": working.header("x-run-id"),
        "held": [stream.header("x-run-id") for stream in held],
        "runs": client.get("/v1/runs?limit=100").json()["data"],
    }
    server.kill()
    return picture


def make(folder):
    folder.mkdir(parents=True, exist_ok=True)
    server = Server(*FLAGS).start()
    (folder / "sqlite.json").write_text(json.dumps(work(server), ensure_ascii=False, indent=1) + "\n")
    keep_data(server, folder / "sqlite.tar.gz")
    server.remove()
    with Postgres(settings=["fsync=off"]) as postgres:
        server = Server(*FLAGS, "--store", postgres.url).start()
        (folder / "postgres.json").write_text(json.dumps(work(server), ensure_ascii=False, indent=1) + "\n")
        keep_data(server, folder / "postgres.tar.gz")
        server.remove()
        dump = subprocess.run([programs() / "pg_dump", "--no-owner", postgres.url], capture_output=True, check=True).stdout
        (folder / "postgres.sql.gz").write_bytes(gzip.compress(dump, mtime=0))


def keep_data(server, archive):
    with tarfile.open(archive, "w:gz") as tar:
        for name in KEPT:
            if (server.data / name).exists():
                tar.add(server.data / name, name)


def installations():
    """The folders that there are, oldest first."""
    return sorted(path for path in (pathlib.Path(__file__).resolve().parents[1] / "golden" / "installations").iterdir() if path.is_dir())


def unpack(archive, data):
    data.mkdir(parents=True)
    with tarfile.open(archive) as tar:
        tar.extractall(data)


if __name__ == "__main__":
    make(pathlib.Path(sys.argv[1]))
