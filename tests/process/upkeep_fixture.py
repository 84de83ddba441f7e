"""Commands that work on a whole installation, and conversations to find in it."""
import os
import subprocess

from server_process import BINARY


def environment():
    return {k: v for k, v in os.environ.items() if not k.startswith("SLUICE_")}


def sluice(*words, patience_s=120):
    """(exit code, stdout, stderr)"""
    done = subprocess.run([str(BINARY), *map(str, words)], capture_output=True, text=True, timeout=patience_s,
                          env=environment(), check=False)
    return done.returncode, done.stdout, done.stderr


def talk(client, words, conversation=None):
    """A turn that is over; gives its conversation."""
    conversation = conversation or client.post("/v1/conversations", {}).json()["id"]
    answer = client.post(f"/v1/conversations/{conversation}/messages?stream=false", {"content": words})
    assert answer.status == 201, answer.body
    return conversation


def messages(client, conversation):
    answer = client.get(f"/v1/conversations/{conversation}/messages?limit=100")
    assert answer.status == 200, answer.body
    return answer.json()["data"]
