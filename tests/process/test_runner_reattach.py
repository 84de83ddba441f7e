"""S-9, S-10, I-7: what a runner tells survives broken connections, killed servers and killed runners: every line once."""
import random
import unittest

from runner_fleet import KEY, Cutter, FleetCase, words
from server_process import wait_until
from stream_grammar import check_stream, slug_of, text_of


class CutConnectionTest(FleetCase):
    def test_lines_come_once_whatever_is_cut(self):
        runner = self.runner()
        cutter = Cutter(runner.port)
        self.addCleanup(cutter.close)
        gateway = self.gateway(cutter.url)
        chance = random.Random(7)
        for _ in range(8):
            cutter.cuts = [chance.randrange(1, 4000) for _ in range(6)]
            lines = gateway.client().say(gateway.conversation(), "tokens 300 600")
            self.assertEqual(text_of(check_stream(lines)), words(300))
        self.assertGreater(cutter.cut_count, 8)
        self.assertEqual(runner.figure('sluice_dispatches_total{outcome="result"}', KEY), 8)
        self.assertEqual(gateway.figure("sluice_runner_lost_total"), 0)

    def test_without_coming_back_in_time_the_box_is_killed(self):
        runner = self.runner()
        gateway = self.gateway(runner.url, flags=("--runner.reattach_seconds", "1"))
        self.begin(gateway, "tokens 100000 50")
        self.assertEqual(runner.live(), 1)
        gateway.kill()
        wait_until(lambda: runner.live() == 0, "the runner ends what nobody comes back to")
        self.assertEqual(runner.figure('sluice_dispatches_total{outcome="caller did not return"}', KEY), 1)


class KilledRunnerTest(FleetCase):
    def test_part_of_an_answer_is_a_clear_problem(self):
        runner = self.runner()
        gateway = self.gateway(runner.url)
        message, _ = self.begin(gateway, "tokens 100000 50")
        runner.kill()
        runner.start()
        events = check_stream(gateway.client().events(message))
        self.assertEqual(slug_of(events[-1]["data"]), "runner-lost")

    def test_what_had_not_begun_is_given_to_another(self):
        runners = [self.runner(), self.runner()]
        gateway = self.gateway(*(runner.url for runner in runners), flags=("--runner.reattach_seconds", "2"))
        answer = gateway.client().send(gateway.conversation(), "sleep 3000\ntokens 20")
        with answer.connection:
            wait_until(lambda: sum(runner.live() for runner in runners) == 1, "one of them has it")
            holder = next(runner for runner in runners if runner.live() == 1)
            holder.kill()
            events = check_stream(list(answer.lines()))
        self.assertEqual(text_of(events), words(20))


if __name__ == "__main__":
    unittest.main()
