"""S-9, S-10, I-7: servers that are killed, runners that are drained, and every part started again, under load: what a
runner does goes on, and each line of it is told once."""
import threading
import unittest

from http_client import PATIENCE_S, Truncated
from runner_fleet import KEY, FleetCase, words
from server_process import wait_until
from stream_grammar import check_stream, text_of

GONE = (ConnectionError, TimeoutError, Truncated, OSError)


class KilledServerTest(FleetCase):
    def test_a_stream_continues_at_its_position_with_each_line_once(self):
        runner = self.runner()
        gateway = self.gateway(runner.url)
        message, seen = self.begin(gateway, "tokens 240 80", lines=30)
        for _ in range(2):
            gateway.kill()
            gateway.start()
        lines = gateway.client().events(message, patience_s=60)
        self.assertEqual(lines[:30], seen)
        self.assertEqual(text_of(check_stream(lines)), words(240))
        self.assertEqual(runner.figure('sluice_dispatches_total{outcome="result"}', KEY), 1)
        wait_until(lambda: runner.health()["free"] == runner.health()["slots"], "nothing is left")

    def test_a_cancel_after_a_restart_kills_what_the_runner_still_does(self):
        runner = self.runner()
        gateway = self.gateway(runner.url)
        answer = gateway.client().send(gateway.conversation(), "tokens 100000 50")
        with answer.connection:
            stream = answer.lines()
            for _ in range(5):
                next(stream)
        gateway.kill()
        gateway.start()
        run = answer.header("x-run-id")
        wait_until(lambda: runner.figure("sluice_dispatches_reattached_total", KEY) == 1, "it is heard again")
        self.assertEqual(gateway.client().post(f"/v1/runs/{run}/cancel").status, 200)
        self.assertEqual(runner.live(), 0)

    def test_a_dispatch_that_ended_meanwhile_is_read_too(self):
        runner = self.runner()
        gateway = self.gateway(runner.url)
        message, _ = self.begin(gateway, "tokens 60 60", lines=10)
        gateway.kill()
        wait_until(lambda: runner.live() == 0, "the runner has ended it")
        gateway.start()
        self.assertEqual(text_of(check_stream(gateway.client().events(message))), words(60))


class Load:
    """Four clients that send one message after the other. Whatever a server that comes and goes does to their
    connections, each answer is read to its end and must be whole."""

    def __init__(self, gateway, client_count=4):
        self.gateway, self.failures, self.done_count = gateway, [], 0
        self.changed, self.stopped = threading.Condition(), threading.Event()
        self.threads = [threading.Thread(target=self._work, daemon=True) for _ in range(client_count)]
        for thread in self.threads:
            thread.start()

    def wait_for(self, count):
        with self.changed:
            target = self.done_count + count
            if not self.changed.wait_for(lambda: self.done_count >= target or self.failures, 120):
                raise AssertionError(f"only {self.done_count} of {target} runs\n{self.gateway.log()[-4000:]}")

    def stop(self):
        """What went wrong."""
        self.stopped.set()
        for thread in self.threads:
            thread.join(2 * PATIENCE_S)
        return self.failures

    def _work(self):
        while not self.stopped.is_set():
            try:
                message = self._send()
                if message:
                    self._check(message)
            except Exception as why:  # pylint: disable=broad-except
                with self.changed:
                    self.failures.append(repr(why))
                    self.changed.notify_all()
                return

    def _send(self):
        """The message's id; None when the server refused it or was not there, so that nothing was promised."""
        try:
            answer = self.gateway.client().send(self.gateway.conversation(), "tokens 40 80")
        except (*GONE, KeyError):
            return None
        with answer.connection:
            if answer.status == 503:
                return None
            try:
                list(answer.lines())
            except GONE:
                pass
            return answer.header("x-message-id")

    def _check(self, message):
        def read():
            try:
                return self.gateway.client().events(message)
            except (*GONE, AssertionError):
                return None
        text = text_of(check_stream(wait_until(read, "the answer can be read", 120)))
        if text != words(40):
            raise AssertionError(f"{message}: {text!r}")
        with self.changed:
            self.done_count += 1
            self.changed.notify_all()


class DrainTest(FleetCase):
    def test_one_of_two_is_drained_under_load_and_no_run_fails(self):
        runners = [self.runner(), self.runner()]
        gateway = self.gateway(*(runner.url for runner in runners))
        load = Load(gateway)
        load.wait_for(8)
        self.assertEqual(runners[0].client(KEY).post("/drain").status, 202)
        self.assertEqual(runners[0].health()["status"], "draining")
        wait_until(lambda: runners[0].live() == 0, "what it had ends")
        load.wait_for(8)
        self.assertEqual(runners[0].live(), 0)
        runners[0].restart()
        gateway.wait_for_runners(2)
        load.wait_for(8)
        self.assertEqual(load.stop(), [])


class RollingUpgradeTest(FleetCase):
    def test_every_part_is_started_again_under_load_and_no_run_is_lost_or_fails(self):
        runners = [self.runner(), self.runner()]
        gateway = self.gateway(*(runner.url for runner in runners), flags=("--server.drain_seconds", "1"))
        load = Load(gateway)
        for part in (*runners, gateway, *runners, gateway):
            load.wait_for(4)
            part.restart()
            gateway.wait_for_runners(2)
        load.wait_for(4)
        self.assertEqual(load.stop(), [])


if __name__ == "__main__":
    unittest.main()
