"""A runner that accepts a dispatch and never answers: cancelling the run is answered all the same (S-10)."""
import http.server
import threading
import time
import unittest

from http_client import PATIENCE_S
from server_process import Server, wait_until

ANSWERED_S = 30 * PATIENCE_S / 30


class SilentRunner:
    """It is well, and says nothing to those who post. Once `answers` is set it says of every dispatch that it has none."""

    def __init__(self):
        self.asked, self.answers, self.over = [], threading.Event(), threading.Event()
        runner = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def reply(self, status, body):
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_GET(self):
                self.reply(200, b'{"status":"ok","slots":4,"free_slots":4}')

            def do_POST(self):
                runner.asked.append(self.command)
                runner.over.wait()

            def do_DELETE(self):
                runner.asked.append(self.command)
                if runner.answers.is_set():
                    self.reply(404, b"{}")
                else:
                    runner.over.wait()

        class QuietServer(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                pass  # the client has disconnected

        self.server = QuietServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.over.set()
        self.server.shutdown()
        self.server.server_close()


class ASilentRunner(unittest.TestCase):
    def setUp(self):
        self.runner = SilentRunner()
        self.addCleanup(self.runner.close)
        self.server = Server("--sandbox.driver", "off", "--runner", self.runner.url, env={"SLUICE_RUNNER_KEY": "k" * 32})
        self.addCleanup(self.server.remove)
        self.client = self.server.start().client()

    def test_S10_a_cancel_is_answered_within_half_a_minute_and_done_when_the_runner_answers(self):
        conversation = self.client.post("/v1/conversations", {}).json()["id"]
        stream = self.client.send(conversation, "say hi", patience_s=8 * PATIENCE_S)
        self.addCleanup(stream.close)
        run = stream.header("x-run-id")
        wait_until(lambda: "POST" in self.runner.asked, "the runner is asked")
        began = time.monotonic()
        answer = self.client.post(f"/v1/runs/{run}/cancel", patience_s=2 * PATIENCE_S)
        self.assertLess(time.monotonic() - began, ANSWERED_S)
        self.assertEqual((answer.status, answer.header("content-type")), (503, "application/problem+json"), answer.body)
        self.assertIn(run, answer.json()["detail"])
        self.assertGreaterEqual(int(answer.header("retry-after")), 1)
        self.assertIn("DELETE", self.runner.asked, "the post was given up, and the runner asked to kill")
        self.assertEqual(self.client.get(f"/v1/runs/{run}").json()["state"], "finishing")
        self.runner.answers.set()
        again = wait_until(lambda: (a := self.client.post(f"/v1/runs/{run}/cancel", patience_s=2 * PATIENCE_S)).status != 503 and a,
                           "the run is cancelled", 4 * PATIENCE_S)
        self.assertEqual((again.status, again.json()["state"]), (200, "cancelled"), again.body)


if __name__ == "__main__":
    unittest.main()
