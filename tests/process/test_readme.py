"""What the README tells a newcomer to type works as it is printed."""
import re
import shutil
import subprocess
import unittest

from server_process import BINARY, PATIENCE_S, ROOT, Server


class TheFirstConversation(unittest.TestCase):
    def commands(self):
        """The block of commands that follows its announcement."""
        readme = (ROOT / "README.md").read_text()
        found = re.search(r"A first conversation.*?```sh\n(.*?)```", readme, re.S)
        self.assertTrue(found, "the README has no first conversation")
        return found[1]

    def test_works_as_printed(self):
        self.assertTrue(shutil.which("curl"), "curl is needed")
        server = Server()
        self.addCleanup(server.remove)
        server.data = server.home / "sluice-data"  # where the README looks for it
        server.start()
        printed = self.commands()
        self.assertIn("127.0.0.1:8080", printed)
        self.assertIn("build/sluice chat", printed)
        script = printed.replace("127.0.0.1:8080", f"127.0.0.1:{server.port}").replace("build/sluice", str(BINARY))
        done = subprocess.run(["sh", "-e", "-c", script], cwd=server.home, env=server.environment(), text=True,
                              input="say typed by a person\n", capture_output=True, timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r'"type":"message_end".*hello there')
        self.assertTrue(done.stdout.endswith("typed by a person\n"), done.stdout[-300:])


if __name__ == "__main__":
    unittest.main()
