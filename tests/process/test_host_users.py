"""The owners of sandboxes' files on the host: user ids that no other account has, always the same in one data directory."""
import json
import os
import subprocess
import unittest

from server_process import BINARY, PATIENCE_S, Server

OF_BEFORE = 200000
DEFAULT = 2100000000


def setUpModule():
    """Only root gives sandboxes users of their own, and puts another file system over /etc."""
    if os.geteuid() != 0:
        print("needs root, which alone gives sandboxes users of their own", flush=True)
        os._exit(77)  # counted as skipped


class HostUsers(unittest.TestCase):

    def server(self, *flags):
        server = Server("--sandbox.driver", "namespaces", *flags)
        self.addCleanup(server.remove)
        return server

    def run_in(self, server, conversation, script):
        """The last event of a run, which has its message."""
        last = server.client().say(conversation, script)[-1]
        self.assertEqual(json.loads(last)["type"], "message_end", last)
        return last.decode()

    def conversation(self, server):
        answer = server.client().post("/v1/conversations", {})
        self.assertEqual(answer.status, 201, answer.body)
        return answer.json()["id"]

    def owners(self, server):
        layers = (server.data / "sandbox" / "workspaces").glob("*/*/*")
        return {path.stat().st_uid for layer in layers for path in layer.rglob("*")}

    def test_a_new_data_directory_gets_user_ids_that_useradd_never_assigns(self):
        server = self.server().start()
        self.run_in(server, self.conversation(server), "write kept.txt: one")
        self.assertEqual(self.owners(server), {DEFAULT})
        self.assertEqual((server.data / "sandbox" / "host_uid").read_text(), f"{DEFAULT}\n")
        server.stop()

    def test_workspaces_of_an_earlier_version_open_and_are_written_as_before(self):
        server = self.server("--sandbox.host_uid", str(OF_BEFORE)).start()
        conversation = self.conversation(server)
        self.run_in(server, conversation, "write kept.txt: one\nwrite changed.txt: one")
        server.stop()
        # As that version left it, which wrote nothing down.
        (server.data / "sandbox" / "host_uid").unlink()
        server.flags = ["--sandbox.driver", "namespaces"]
        server.start()
        told = self.run_in(server, conversation, "$ echo two >> changed.txt; paste -sd+ kept.txt changed.txt\nsay {{last}}")
        self.assertRegex(told, r"one.*onetwo")
        self.run_in(server, self.conversation(server), "write new.txt: one")
        self.assertEqual(self.owners(server), {OF_BEFORE})
        server.stop()

    def test_other_users_than_those_of_the_data_directory_are_warned_of(self):
        server = self.server().start()
        server.stop()
        server.flags += ["--sandbox.host_uid", "347000"]
        server.start()
        self.assertIn("sandboxes have other users than the workspaces that are kept", server.log())
        server.stop()
        self.assertIn(f"was begun with {DEFAULT}", self.doctor(server, "--sandbox.host_uid", "347000"))

    def doctor(self, server, *flags, subuid=None):
        words = [str(BINARY), "doctor", "--data", str(server.data), *flags]
        if subuid is not None:
            etc = server.home / "etc"
            etc.mkdir(exist_ok=True)
            (etc / "subuid").write_text(subuid)
            words = ["unshare", "--mount", "--propagation", "private", "sh", "-c",
                     'mount -t overlay etc -o "lowerdir=$0:/etc" /etc && exec "$@"', str(etc), *words]
        done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S, env=server.environment(),
                              check=False)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return done.stdout

    def test_the_doctor_names_whom_subuid_gives_the_users_of_sandboxes(self):
        server = self.server()
        told = self.doctor(server, "--sandbox.host_uid", str(OF_BEFORE), subuid="ben:100000:65536\nanna:165536:65536\n")
        self.assertIn("/etc/subuid: anna (165536 to 231071)", told)
        self.assertNotIn("ben", told)
        told = self.doctor(server, subuid="ben:100000:65536\nanna:165536:65536\n")
        self.assertIn(f"{DEFAULT} to {DEFAULT + 4096}, which /etc/subuid assigns to no account", told)


if __name__ == "__main__":
    unittest.main()
